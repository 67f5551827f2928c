# Writes pages-1.0.parquet and pages-2.0.parquet, as Arrow C++ (pyarrow 25) has them.
import random

import pyarrow as pa
import pyarrow.parquet as pq

rows = 1500
rng = random.Random(1)


def some(value):
    return [None if i % 9 == 0 else value(i) for i in range(rows)]


columns = {
    "long_plain": (pa.int64(), lambda i: rng.getrandbits(64) - 2**63, "PLAIN"),
    "long_delta": (pa.int64(), lambda i: i * 1_000_003 + rng.randrange(50), "DELTA_BINARY_PACKED"),
    "long_far": (pa.int64(), lambda i: rng.getrandbits(64) - 2**63, "DELTA_BINARY_PACKED"),
    "int_far": (pa.int32(), lambda i: rng.getrandbits(32) - 2**31, "DELTA_BINARY_PACKED"),
    "long_split": (pa.int64(), lambda i: i * 77, "BYTE_STREAM_SPLIT"),
    "int_split": (pa.int32(), lambda i: -i, "BYTE_STREAM_SPLIT"),
    "float_split": (pa.float32(), lambda i: i / 3, "BYTE_STREAM_SPLIT"),
    "double_split": (pa.float64(), lambda i: -i / 7, "BYTE_STREAM_SPLIT"),
    "fixed_split": (pa.binary(5), lambda i: b"%05d" % i, "BYTE_STREAM_SPLIT"),
    "fixed_delta": (pa.binary(5), lambda i: b"%05d" % i, "DELTA_BYTE_ARRAY"),
    "text_lengths": (pa.binary(), lambda i: b"x" * (i % 20), "DELTA_LENGTH_BYTE_ARRAY"),
    "text_delta": (pa.binary(), lambda i: b"customer %d" % (i // 3), "DELTA_BYTE_ARRAY"),
    "bool_runs": (pa.bool_(), lambda i: i // 30 % 2 == 0, "RLE"),
    "bool_plain": (pa.bool_(), lambda i: i % 3 == 0, "PLAIN"),
    "text_few": (pa.binary(), lambda i: b"town %d" % (i % 70), None),
    "long_few": (pa.int64(), lambda i: i // 100, None),
    "one": (pa.int32(), lambda i: 5, None),
    "none": (pa.int32(), lambda i: None, None),
    "lists": (
        pa.list_(pa.list_(pa.int32())),
        lambda i: [[i % 5, None], [], None][: i % 4] if i % 7 else None,
        None,
    ),
}
table = pa.table({name: pa.array(some(value), type) for name, (type, value, _) in columns.items()})
encoded = {name: encoding for name, (_, _, encoding) in columns.items() if encoding}
for version in ("1.0", "2.0"):
    pq.write_table(
        table,
        f"pages-{version}.parquet",
        use_dictionary=[name for name in columns if name not in encoded]
        + ["lists.list.element.list.element"],
        column_encoding=encoded,
        data_page_version=version,
        data_page_size=1024,
        write_batch_size=200,
        write_statistics=False,
        compression="NONE",
        store_schema=False,
    )
