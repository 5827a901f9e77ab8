"""Byte-level BPE through ``tokenizers``, and text that arrives token by token without broken characters.

A byte-level token is a string of bytes, and one character may span several tokens. So text is made from bytes: each
token has its bytes (:meth:`Tokenizer.token_bytes`), and :class:`TextStream` runs them through an incremental UTF-8
decoder, which holds an unfinished character back until it is complete or hopeless.
"""

from __future__ import annotations

import codecs
import hashlib
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors

from minispec.errors import ModelFileError, PromptError, explain, quote

END_OF_TEXT = "<|endoftext|>"

NUMERALS_APART = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pieces that the bundled tokenizers cut text into: GPT-2's, but that every numeral is one of its own, so that sums
can be learnt digit by digit."""
_UNLIMITED = 1 << 30
_in_use: weakref.WeakValueDictionary[tuple[bytes, Additions], Tokenizer] = weakref.WeakValueDictionary()
"""Tokenizers that somebody holds, by the hash of their file and what other files add to it."""


@dataclass(frozen=True)
class Added:
    """A token beside those that merges make.

    Parameters
    ----------
    content : str
    special : bool
        It has no text.
    lstrip, rstrip, single_word, normalized : bool
        As in the library.
    token_id : int or None
        The id it must get; the vocabulary's, or else the next.
    """

    content: str
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False
    token_id: int | None = None


@dataclass(frozen=True)
class Additions:
    """What other files add to a vocabulary.

    Parameters
    ----------
    tokens : tuple of Added
    prefix_space : bool or None
        Whether a prompt gets a space in front; None leaves it to ``tokenizer.json``.
    default_end : bool
        ``<|endoftext|>`` is special, if the vocabulary has it.
    begin, end : str or None
        Tokens that a prompt gets in front and behind, besides those of ``tokenizer.json``.
    eos_token : str or None
        The token that is named as the end of a text.
    """

    tokens: tuple[Added, ...] = ()
    prefix_space: bool | None = None
    default_end: bool = False
    begin: str | None = None
    end: str | None = None
    eos_token: str | None = None

    def apply(self, backend: tokenizers.Tokenizer, name: str) -> None:
        """Add them to a tokenizer of the library.

        Raises
        ------
        ModelFileError
            If a token gets another id than it must, or is missing.
        """
        tokens = list(self.tokens)
        if self.default_end and backend.token_to_id(END_OF_TEXT) is not None:
            tokens.append(Added(END_OF_TEXT, special=True))
        settings = "special", "lstrip", "rstrip", "single_word", "normalized"
        backend.add_tokens(
            [tokenizers.AddedToken(token.content, **{key: getattr(token, key) for key in settings}) for token in tokens]
        )
        for token in tokens:
            found = backend.token_to_id(token.content)
            if token.token_id is not None and found is not None and found != token.token_id:
                raise ModelFileError(
                    f"{name}: the files beside it give token {quote(token.content)} the id {token.token_id}, but its "
                    f"place is {found}; they belong to different models. Fetch them again"
                )
        if self.prefix_space is not None and isinstance(backend.pre_tokenizer, pre_tokenizers.ByteLevel):
            cut = backend.pre_tokenizer
            cut.add_prefix_space = self.prefix_space
            backend.pre_tokenizer = cut
        if self.begin is None and self.end is None:
            return
        around = [text for text in (self.begin, self.end) if text is not None]
        for text in around:
            if backend.token_to_id(text) is None:
                raise ModelFileError(
                    f"{name}: prompts are to be put between {' and '.join(map(quote, around))}, and the vocabulary "
                    f"lacks {quote(text)}. Fetch the tokenizer again"
                )
        template = [*([self.begin] if self.begin else []), "$A", *([self.end] if self.end else [])]
        ids = [(text, backend.token_to_id(text)) for text in dict.fromkeys(around)]
        backend.post_processor = processors.TemplateProcessing(single=template, pair=None, special_tokens=ids)


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
    additions : Additions
        What other files say.

    Attributes
    ----------
    special_ids : frozenset of int
        Tokens without text.
    added_ids : frozenset of int
        Tokens that are not of the vocabulary that merges make, special or not; a model may lack rows for them.
    eos_token_id : int or None
        The token that the files name as the end of a text.

    Raises
    ------
    ModelFileError
        If it is not byte-level, so that its tokens have no bytes of their own.
    """

    def __init__(
        self, backend: tokenizers.Tokenizer, name: str = "tokenizer", additions: Additions = Additions()
    ) -> None:
        if "ByteLevel(" not in repr(backend.decoder):  # alone or in a Sequence; nothing else gives tokens bytes
            raise ModelFileError(
                f"{name} is not byte-level: its decoder is {quote(backend.decoder)}; minispec reads byte-level BPE "
                "tokenizers (the GPT-2 family). Convert the model, or pick another"
            )
        backend.no_truncation()  # a file may ask for any of these, and each would change a prompt
        backend.no_padding()
        if isinstance(backend.model, models.BPE):
            backend.model.dropout = None  # at random, for training
        try:
            additions.apply(backend, name)
        except ModelFileError:
            raise
        except BaseException as error:
            raise _wrap_error(f"{name} does not take the tokens of the files beside it", error) from None
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
        self._specials = specials
        self.special_ids = frozenset(specials)
        self.added_ids = frozenset(added) - frozenset(backend.get_vocab(with_added_tokens=False).values())
        self.eos_token_id = None if additions.eos_token is None else backend.token_to_id(additions.eos_token)
        self._fingerprint: str | None = None

    @classmethod
    def from_file(cls, path: Path, additions: Additions = Additions()) -> Tokenizer:
        """Read a ``tokenizer.json``; the models of a pair mostly have the same one, which is then parsed once."""
        try:
            content = path.read_bytes()
            key = hashlib.sha256(content).digest(), additions
            known = _in_use.get(key)
            if known is not None:
                return known
            backend = tokenizers.Tokenizer.from_buffer(content)
        except BaseException as error:
            raise _wrap_error(f"{path} is not a tokenizer file", error) from None
        tokenizer = _in_use[key] = cls(backend, str(path), additions)
        return tokenizer

    @classmethod
    def from_vocab_and_merges(
        cls, vocab: Path, merges: Path, additions: Additions = Additions(default_end=True)
    ) -> Tokenizer:
        """Build GPT-2's tokenizer from ``vocab.json`` and ``merges.txt``."""
        try:
            backend = tokenizers.Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
        except BaseException as error:
            raise _wrap_error(f"{vocab} and {merges.name} are not a BPE vocabulary", error) from None
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        return cls(backend, str(vocab), additions)

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
        return self._encode(text, whole=False)

    def encode_prompt(self, text: str) -> list[int]:
        """Return the same of a text that a model is to go on with, and the tokens that the files put around it."""
        return self._encode(text, whole=True)

    def around(self) -> tuple[list[int], list[int]]:
        """Return the tokens that the files put in front of a prompt, and those behind it."""
        own, whole = self.encode("a"), self.encode_prompt("a")
        begin = next((i for i in range(len(whole)) if whole[i : i + len(own)] == own), 0)
        return whole[:begin], whole[begin + len(own) :]

    def _encode(self, text: str, *, whole: bool) -> list[int]:
        try:
            return list(self._backend.encode(text, add_special_tokens=whole).ids)
        except BaseException as error:
            # half a surrogate pair is no text; a broken vocabulary may lack what it needs, a rule of it may never end
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise PromptError(f"cannot encode {quote(text)} ({explain(error)}). It must be valid Unicode") from None

    def tokens(self, num_rows: int) -> dict[int, bytes]:
        """Return the bytes of every token that a model with so many rows has one for."""
        return {token: content for token, content in self._bytes.items() if token < num_rows}

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes a token stands for: none for a special token or an id the vocabulary lacks."""
        return self._bytes.get(token, b"")

    def name(self, token: int) -> str:
        r"""Return how OpenAI's interface writes a token.

        Its text; ``bytes:\xf0\x9f`` where its bytes are parts of characters; a special token as it is written.
        """
        if token in self._specials:
            return self._specials[token]
        if token not in self._bytes:
            return f"token_id:{token}"
        content = self._bytes[token]
        try:
            return content.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in content)

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


def describe_difference(a: Tokenizer, b: Tokenizer, *rows: int) -> str | None:
    """Say how two vocabularies differ in one phrase, or None where every id means the same text in both.

    Parameters
    ----------
    a, b : Tokenizer
    *rows : int
        Of the models of both: what a model has no row for does not count. By default everything does.
    """
    first, second = (
        tokenizer.tokens(count) for tokenizer, count in zip((a, b), rows or (a.vocab_size, b.vocab_size), strict=True)
    )
    if first == second:
        return None
    if len(first) != len(second):
        return f"one has {len(first)} tokens, the other {len(second)}"
    token = min(i for i in first.keys() | second.keys() if first.get(i) != second.get(i))
    if token not in first or token not in second:
        return f"one has no token {token}"
    return f"token {token} is {first[token]!r} in one and {second[token]!r} in the other"
