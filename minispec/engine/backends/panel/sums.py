"""Attention's inner loops: dot products with keys, and weighted sums of values."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from minispec.engine.backends.panel.emit import F32, I32, I64, LANES, ZEROS, Emitter

MAX_VECTORS = 64 // LANES + 1
"""The most vectors per head that :func:`scores` takes: heads of 64 numbers, and a little more."""


@intrinsic
def dot(typing, a, a_first, b, b_first, size):
    """Return the sum over i < size of ``a.flat[a_first + i] * b.flat[b_first + i]``, of contiguous arrays.

    ``b`` may hold the bits of float16. Four vectors at a time, then one, then single elements.
    """
    signature = types.float32(a, a_first, b, b_first, size)

    def codegen(context, builder, sig, args):
        emit, dtype = Emitter(builder), sig.args[2].dtype
        a, b = (emit.at(context.make_array(sig.args[i])(context, builder, args[i]).data, args[i + 1]) for i in (0, 2))
        size = args[4]
        zero = ZEROS

        def product(i, total):
            return emit.fma(emit.load(emit.at(a, i), F32), emit.load_wide(emit.at(b, i), dtype), total)

        def four(i, totals):
            return [product(builder.add(i, I64(j * LANES)), total) for j, total in enumerate(totals)]

        def single(i, totals):
            return [emit.fma(builder.load(emit.at(a, i)), emit.widen(builder.load(emit.at(b, i)), dtype), totals[0])]

        fours, ones = emit.whole(size, 4 * LANES), emit.whole(size, LANES)
        s = emit.loop(I64(0), fours, 4 * LANES, [zero] * 4, four)
        total = builder.fadd(builder.fadd(s[0], s[1]), builder.fadd(s[2], s[3]))
        (total,) = emit.loop(fours, ones, LANES, [total], lambda i, totals: [product(i, totals[0])])
        (result,) = emit.loop(ones, size, 1, [emit.sum_of_lanes(total)], single)
        return result

    return signature, codegen


@intrinsic
def scores(typing, queries, query_first, keys, firsts, offset, start, stop, size, out):
    """Set ``out[i]``, start <= i < stop, to the dot product of a query with key i, both of ``size`` contiguous numbers.

    The query begins at ``queries.flat[query_first]``, key i at ``keys.flat[firsts[i] + offset]``; keys may be the bits
    of float16. ``size`` must be a multiple of LANES up to ``MAX_VECTORS`` of them: then the query stays in registers,
    and four keys are under way at a time. For other sizes there is :func:`dot`.
    """
    signature = types.void(queries, query_first, keys, firsts, offset, start, stop, size, out)

    def codegen(context, builder, sig, args):
        emit, dtype = Emitter(builder), sig.args[2].dtype
        queries, keys, firsts, out = (context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 2, 3, 8))
        query, offset, start, stop = emit.at(queries.data, args[1]), args[4], args[5], args[6]

        def against(vectors):
            parts = [emit.load(emit.at(query, v * LANES), F32) for v in range(vectors)]

            def products(i):
                emit.prefetch_vectors(keys, firsts, i, offset, vectors, dtype)
                key = emit.at(keys.data, builder.load(emit.at(firsts.data, i)), offset)
                total = ZEROS
                for v, part in enumerate(parts):
                    total = emit.fma(part, emit.load_wide(emit.at(key, v * LANES), dtype), total)
                return total

            def four(i, carried):
                sums = emit.sums_of_lanes([products(builder.add(i, I64(j))) for j in range(4)])
                emit.store(sums, emit.at(out.data, i))
                return carried

            def single(i, carried):
                total = products(i)  # in the tree of the others
                builder.store(builder.extract_element(emit.sums_of_lanes([total] * 4), I32(0)), emit.at(out.data, i))
                return carried

            fours = builder.add(start, emit.whole(builder.sub(stop, start), 4))
            emit.loop(start, fours, 4, [], four)
            emit.loop(fours, stop, 1, [], single)

        end = builder.append_basic_block("end")
        switch = builder.switch(args[7], end)
        for vectors in range(1, MAX_VECTORS + 1):
            case = builder.append_basic_block(f"size_{vectors * LANES}")
            switch.add_case(I64(vectors * LANES), case)
            builder.position_at_end(case)
            against(vectors)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def weighted_sum(typing, weights, vectors, firsts, offset, start, stop, out, out_first, size):
    """Add to ``out.flat[out_first + d]``, for d < size, ``weights[i] * vectors.flat[firsts[i] + offset + d]``.

    For start <= i < stop, one after the other: each element d is one chain, whether it is taken in one call or in
    several. The arrays are contiguous; vectors may be the bits of float16.
    """
    signature = types.void(weights, vectors, firsts, offset, start, stop, out, out_first, size)

    def codegen(context, builder, sig, args):
        emit, dtype = Emitter(builder), sig.args[1].dtype
        weights, vectors, firsts, out = (
            context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 1, 2, 6)
        )
        offset, start, stop, size = args[3], args[4], args[5], args[8]
        target = emit.at(out.data, args[7])

        def vector_and_weight(i):
            first = builder.load(emit.at(firsts.data, i))
            return emit.at(vectors.data, first, offset), builder.load(emit.at(weights.data, i))

        def columns(number):
            """Emit the sums of ``number`` vectors of columns from d on."""

            def at(d, carried):
                def add(i, totals):
                    emit.prefetch_vectors(vectors, firsts, i, builder.add(offset, d), number, dtype)
                    source, weight = vector_and_weight(i)
                    weight = emit.splat(weight)
                    return [
                        emit.fma(weight, emit.load_wide(emit.at(source, d, j * LANES), dtype), total)
                        for j, total in enumerate(totals)
                    ]

                sums = [emit.load(emit.at(target, d, j * LANES), F32) for j in range(number)]
                for j, total in enumerate(emit.loop(start, stop, 1, sums, add)):
                    emit.store(total, emit.at(target, d, j * LANES))
                return carried

            return at

        def column(d, carried):
            def add(i, totals):
                source, weight = vector_and_weight(i)
                return [emit.fma(weight, emit.widen(builder.load(emit.at(source, d)), dtype), totals[0])]

            (total,) = emit.loop(start, stop, 1, [builder.load(emit.at(target, d))], add)
            builder.store(total, emit.at(target, d))
            return carried

        fours, ones = emit.whole(size, 4 * LANES), emit.whole(size, LANES)
        emit.loop(I64(0), fours, 4 * LANES, [], columns(4))
        emit.loop(fours, ones, LANES, [], columns(1))
        emit.loop(ones, size, 1, [], column)
        return context.get_dummy_value()

    return signature, codegen
