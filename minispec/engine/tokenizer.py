"""Byte-level BPE through ``tokenizers``, and text that arrives token by token without broken characters.

A byte-level token is a string of bytes, and one character may span several tokens. So text is made from bytes: each
token has its bytes (:meth:`Tokenizer.token_bytes`), and :class:`TextStream` runs them through an incremental UTF-8
decoder, which holds an unfinished character back until it is complete or hopeless.
"""

from __future__ import annotations

import codecs
import hashlib
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from minispec.errors import ModelFileError, PromptError, explain, quote

END_OF_TEXT = "<|endoftext|>"

NUMERALS_APART = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pieces that the bundled tokenizers cut text into: GPT-2's, but that every numeral is one of its own, so that sums
can be learnt digit by digit."""
_UNLIMITED = 1 << 30
_in_use: weakref.WeakValueDictionary[bytes, Tokenizer] = weakref.WeakValueDictionary()
"""Tokenizers that somebody holds, by the hash of their file."""


def make_byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte: printable Latin-1 as itself, the other bytes from U+0100 upwards."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


class Tokenizer:
    """A byte-level BPE tokenizer.

    Parameters
    ----------
    backend : tokenizers.Tokenizer
        As read from ``tokenizer.json`` or built from ``vocab.json`` and ``merges.txt``.
    name : str
        The name in messages, usually the file's path.

    Raises
    ------
    ModelFileError
        If it is not byte-level, so that its tokens have no bytes of their own.
    """

    def __init__(self, backend: tokenizers.Tokenizer, name: str = "tokenizer") -> None:
        if "ByteLevel(" not in repr(backend.decoder):  # alone or in a Sequence; nothing else gives tokens bytes
            raise ModelFileError(
                f"{name} is not byte-level: its decoder is {quote(backend.decoder)}; minispec reads byte-level BPE "
                "tokenizers (the GPT-2 family). Convert the model, or pick another"
            )
        backend.no_truncation()  # a file may ask for any of these, and each would change a prompt
        backend.no_padding()
        if isinstance(backend.model, models.BPE):
            backend.model.dropout = None  # at random, for training
        self._backend = backend
        alphabet = make_byte_alphabet()
        specials = {i: token.content for i, token in backend.get_added_tokens_decoder().items() if token.special}
        added = {i: token.content for i, token in backend.get_added_tokens_decoder().items()}
        self._bytes: dict[int, bytes] = {}
        for text, token in backend.get_vocab(with_added_tokens=True).items():
            if token in self._bytes and token not in added:
                raise ModelFileError(f"{name}: two tokens have the id {token}, one is {quote(text)}. Fetch it again")
            if token in added:
                self._bytes[token] = b"" if token in specials else added[token].encode()
            else:
                try:
                    self._bytes[token] = bytes(map(alphabet.__getitem__, text))
                except KeyError:
                    raise ModelFileError(
                        f"{name}: token {token} is {quote(text)}, which is not a string of byte symbols; minispec "
                        "reads byte-level BPE tokenizers (the GPT-2 family). Convert the model, or pick another"
                    ) from None
        self.special_ids = frozenset(specials)
        self._fingerprint: str | None = None

    @classmethod
    def from_file(cls, path: Path) -> Tokenizer:
        """Read a ``tokenizer.json``; the models of a pair mostly have the same one, which is then parsed once."""
        try:
            content = path.read_bytes()
            digest = hashlib.sha256(content).digest()
            known = _in_use.get(digest)
            if known is not None:
                return known
            backend = tokenizers.Tokenizer.from_buffer(content)
        except BaseException as error:
            raise _wrap_error(f"{path} is not a tokenizer file", error) from None
        tokenizer = _in_use[digest] = cls(backend, str(path))
        return tokenizer

    @classmethod
    def from_vocab_and_merges(cls, vocab: Path, merges: Path) -> Tokenizer:
        """Build GPT-2's tokenizer from ``vocab.json`` and ``merges.txt``."""
        try:
            backend = tokenizers.Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
        except BaseException as error:
            raise _wrap_error(f"{vocab} and {merges.name} are not a BPE vocabulary", error) from None
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        if backend.token_to_id(END_OF_TEXT) is not None:
            backend.add_special_tokens([END_OF_TEXT])
        return cls(backend, str(vocab))

    @property
    def vocab_size(self) -> int:
        """Number of token ids, i.e. the largest id + 1."""
        return max(self._bytes, default=-1) + 1

    @property
    def longest_token(self) -> int:
        """Bytes of the longest token, as it is written in a text."""
        special = (len(token.content.encode()) for token in self._backend.get_added_tokens_decoder().values())
        return max(1, *map(len, self._bytes.values()), *special)

    def count_most(self, num_bytes: int) -> int:
        """Return the most tokens that a text of so many bytes has: one a byte, and one for a space put before it.

        There is no such number where the file rewrites texts, some of which may grow.
        """
        return num_bytes + 1 if self._backend.normalizer is None else _UNLIMITED

    def to_json(self) -> str:
        """Return the content of a ``tokenizer.json``."""
        return str(self._backend.to_str())

    def fingerprint(self) -> str:
        """Return a hash of the map from id to bytes: equal for two tokenizers iff every token means the same text."""
        if self._fingerprint is None:
            digest = hashlib.sha256()
            for token, content in sorted(self._bytes.items()):
                digest.update(f"{token}:{len(content)}:".encode() + content)
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def encode(self, text: str) -> list[int]:
        """Return the token ids of ``text``; special tokens written out in it are recognised."""
        try:
            return list(self._backend.encode(text, add_special_tokens=False).ids)
        except BaseException as error:
            # half a surrogate pair is no text; a broken vocabulary may lack what it needs, a rule of it may never end
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise PromptError(f"cannot encode {quote(text)} ({explain(error)}). It must be valid Unicode") from None

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes a token stands for: none for a special token or an id the vocabulary lacks."""
        return self._bytes.get(token, b"")

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of ``tokens`` without special tokens; bytes that are not UTF-8 become U+FFFD."""
        return b"".join(map(self.token_bytes, tokens)).decode("utf-8", "replace")


class TextStream:
    """Text of a growing token sequence: ``push`` each token, ``flush`` at the end.

    The pieces joined equal ``tokenizer.decode`` of the whole sequence, wherever characters straddle tokens.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def pending(self) -> bytes:
        """Bytes of a character that is not complete yet."""
        return self._decoder.getstate()[0]

    def push(self, token: int) -> str:
        """Return the characters that ``token`` completes, possibly none."""
        return self._decoder.decode(self._tokenizer.token_bytes(token))

    def flush(self) -> str:
        """Return U+FFFD for a character that will never be completed, else nothing."""
        return self._decoder.decode(b"", final=True)


def _wrap_error(what: str, error: BaseException) -> BaseException:
    """Return our error for the library's; it raises plain Exception, and BaseException where its Rust code panics."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return error
    return ModelFileError(f"{what} ({explain(error)}). Fetch the tokenizer again")


def describe_difference(a: Tokenizer, b: Tokenizer) -> str | None:
    """Say how two vocabularies differ in one phrase, or None where every id means the same text in both."""
    if a.vocab_size != b.vocab_size:
        return f"one has {a.vocab_size} tokens, the other {b.vocab_size}"
    if a is b or a.fingerprint() == b.fingerprint():
        return None
    ids: Sequence[int] = range(a.vocab_size)
    first = next((i for i in ids if a.token_bytes(i) != b.token_bytes(i)), None)
    if first is None:
        return "their special tokens differ"
    return f"token {first} is {a.token_bytes(first)!r} in one and {b.token_bytes(first)!r} in the other"
