#!/usr/bin/env python3
"""Writes what programs read, the same in each run: a small model of random 16-bit weights for ggml's, a picture for ncnn's.
Usage: make_model.py llama | whisper | picture FILE
llama: a GGUF of 2 layers of 256. whisper: a model file of 1 layer of 64 in the encoder and in the decoder.
picture: a PNG file of 64x64."""
import random
import statistics
import struct
import sys
import zlib

F32, F16 = 0, 1
random.seed(7)


def weights(count, columns):
    """Normally distributed, of variance 1 / columns, quantised to 256 values."""
    values = [statistics.NormalDist(0, columns ** -0.5).inv_cdf((i + 0.5) / 256) for i in range(256)]
    table = [struct.pack("<e", value) for value in values]
    return b"".join(map(table.__getitem__, random.randbytes(count)))


def constants(count, value=1.0):
    return struct.pack("<f", value) * count


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def llama():
    layers, size, inner, heads, kv_heads = 2, 256, 512, 4, 2
    kv_size = size // heads * kv_heads
    # A vocabulary that can spell every text: bytes, the separator and the printable characters.
    tokens = [("<unk>", 2), ("<s>", 3), ("</s>", 3)] + [("<0x%02X>" % i, 6) for i in range(256)]
    tokens += [(c, 1) for c in ["▁"] + [chr(i) for i in range(33, 127)]]
    tokens += [("▁%d" % i, 1) for i in range(448 - len(tokens))]

    uint32, float32, string, array, int32 = 4, 6, 8, 9, 5

    def number(key, value):
        return text(key) + struct.pack("<II", uint32, value)

    def list_of(key, kind, values):
        return text(key) + struct.pack("<IIQ", array, kind, len(values)) + b"".join(values)

    meta = [text("general.architecture") + struct.pack("<I", string) + text("llama"),
            text("tokenizer.ggml.model") + struct.pack("<I", string) + text("llama"),
            text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", float32, 1e-5),
            list_of("tokenizer.ggml.tokens", string, [text(t) for t, _ in tokens]),
            list_of("tokenizer.ggml.scores", float32, [struct.pack("<f", -i) for i in range(len(tokens))]),
            list_of("tokenizer.ggml.token_type", int32, [struct.pack("<i", kind) for _, kind in tokens])]
    meta += [number(key, value) for key, value in {
        "llama.context_length": 512, "llama.embedding_length": size, "llama.block_count": layers,
        "llama.feed_forward_length": inner, "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": kv_heads, "llama.rope.dimension_count": size // heads,
        "llama.vocab_size": len(tokens), "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0}.items()]

    tensors = []

    def matrix(name, rows, columns):
        tensors.append((name, (columns, rows), F16, weights(rows * columns, columns)))

    def vector(name):
        tensors.append((name, (size,), F32, constants(size)))

    matrix("token_embd.weight", len(tokens), size)
    for i in range(layers):
        block = "blk.%d." % i
        vector(block + "attn_norm.weight")
        matrix(block + "attn_q.weight", size, size)
        matrix(block + "attn_k.weight", kv_size, size)
        matrix(block + "attn_v.weight", kv_size, size)
        matrix(block + "attn_output.weight", size, size)
        vector(block + "ffn_norm.weight")
        matrix(block + "ffn_gate.weight", inner, size)
        matrix(block + "ffn_up.weight", inner, size)
        matrix(block + "ffn_down.weight", size, inner)
    vector("output_norm.weight")
    matrix("output.weight", len(tokens), size)

    aligned = lambda data: data + bytes(-len(data) % 32)
    infos, body = b"", b""
    for name, sizes, kind, data in tensors:
        infos += text(name) + struct.pack("<I%dQIQ" % len(sizes), len(sizes), *sizes, kind, len(body))
        body += aligned(data)
    return aligned(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta)) + b"".join(meta) + infos) + body


def whisper():
    words, audio, size, texts, mels, bins = 51864, 1500, 64, 448, 80, 201
    out = [struct.pack("<I11i", 0x67676D6C, words, audio, size, 2, 1, texts, size, 2, 1, mels, 1)]
    out.append(struct.pack("<2i", mels, bins) + constants(mels * bins, 1 / bins))
    out.append(struct.pack("<i", 50257))
    vocabulary = [b" ", b" -", b" '"] + [b" %d" % i for i in range(50254)]  # the program looks up the first three
    out += [struct.pack("<I", len(word)) + word for word in vocabulary]

    def tensor(name, sizes, kind, data):
        out.append(struct.pack("<3i%di" % len(sizes), len(sizes), len(name), kind, *sizes) + name.encode() + data)

    def matrix(name, columns, rows):
        tensor(name, (columns, rows), F16, weights(columns * rows, columns))

    def vector(name, count=size, value=0.01):
        tensor(name, (count,), F32, constants(count, value))

    def norm(name):
        vector(name + ".weight", value=1.0)
        vector(name + ".bias")

    def attention(name):
        for part in ("query", "key", "value", "out"):
            matrix("%s.%s.weight" % (name, part), size, size)
            if part != "key":
                vector("%s.%s.bias" % (name, part))

    def block(name, crossed):
        norm(name + "mlp_ln")
        matrix(name + "mlp.0.weight", size, 4 * size)
        vector(name + "mlp.0.bias", 4 * size)
        matrix(name + "mlp.2.weight", 4 * size, size)
        vector(name + "mlp.2.bias")
        for part in ["attn"] + ["cross_attn"] * crossed:
            norm("%s%s_ln" % (name, part))
            attention(name + part)

    def positions(name, count):
        data = [random.gauss(0, 0.1) for _ in range(size * count)]
        tensor(name, (size, count), F32, struct.pack("<%df" % len(data), *data))

    positions("encoder.positional_embedding", audio)
    for i, inputs in enumerate((mels, size), 1):
        tensor("encoder.conv%d.weight" % i, (3, inputs, size), F16, weights(3 * inputs * size, 3 * inputs))
        tensor("encoder.conv%d.bias" % i, (1, size), F32, constants(size, 0.01))
    norm("encoder.ln_post")
    block("encoder.blocks.0.", False)
    positions("decoder.positional_embedding", texts)
    matrix("decoder.token_embedding.weight", size, words)
    norm("decoder.ln")
    block("decoder.blocks.0.", True)
    return b"".join(out)


def picture():
    size = 64
    rows = [bytes(channel % 256 for x in range(size) for channel in (7 * x + 3 * y, x * y, 4 * (x ^ y))) for y in range(size)]

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", size, size, 8, 2, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b"")


models = {"llama": llama, "whisper": whisper, "picture": picture}
if len(sys.argv) != 3 or sys.argv[1] not in models:
    sys.exit(__doc__)
with open(sys.argv[2], "wb") as file:
    file.write(models[sys.argv[1]]())
