"""DuckDB and ClickHouse, each with the tables and views of a data set. Answers are lists of tuples of text."""
import ctypes
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / ".deps/duckdb/libduckdb.so"
SQL = ROOT / "examples/fleet"
TABLES = ("capture", "pass", "shader", "line")


def require():
    """Ends the test as skipped where an engine is missing; as failed where all must be there."""
    missing = [] if LIBRARY.exists() else ["DuckDB (scripts/fetch-duckdb)"]
    if shutil.which("clickhouse-server") is None:
        missing.append("clickhouse-server")
    if missing:
        print("missing:", ", ".join(missing))
        sys.exit(1 if os.environ.get("TALLY_REQUIRE_DRIVERS") == "1" else 77)


class DuckResult(ctypes.Structure):
    _fields_ = [("counts", ctypes.c_uint64 * 3), ("columns", ctypes.c_void_p), ("error", ctypes.c_char_p),
                ("data", ctypes.c_void_p)]


class DuckDb:
    """An engine inside this process. `tables`: duckdb.sql or duckdb_parquet.sql."""

    def __init__(self, data_set, tables="duckdb.sql"):
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.duckdb_value_varchar.restype = ctypes.c_void_p
        self.library.duckdb_value_varchar.argtypes = [ctypes.POINTER(DuckResult), ctypes.c_uint64, ctypes.c_uint64]
        self.library.duckdb_result_error.restype = ctypes.c_char_p
        self.library.duckdb_row_count.restype = self.library.duckdb_column_count.restype = ctypes.c_uint64
        self.library.duckdb_free.argtypes = [ctypes.c_void_p]
        self.database, self.connection = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.duckdb_open(None, ctypes.byref(self.database)) == 0
        assert self.library.duckdb_connect(self.database, ctypes.byref(self.connection)) == 0
        self.data_set = str(data_set)
        self.query((SQL / tables).read_text())
        self.query((SQL / "views.sql").read_text())

    def close(self):
        self.library.duckdb_disconnect(ctypes.byref(self.connection))
        self.library.duckdb_close(ctypes.byref(self.database))

    def text(self, result, column, row):
        value = self.library.duckdb_value_varchar(ctypes.byref(result), column, row)
        text = ctypes.string_at(value).decode() if value else None
        self.library.duckdb_free(value)
        return text

    def query(self, sql):
        result = DuckResult()
        before = os.getcwd()
        os.chdir(self.data_set)
        try:
            if self.library.duckdb_query(self.connection, sql.encode(), ctypes.byref(result)) != 0:
                raise RuntimeError(self.library.duckdb_result_error(ctypes.byref(result)).decode())
            columns = self.library.duckdb_column_count(ctypes.byref(result))
            rows = self.library.duckdb_row_count(ctypes.byref(result))
            return [tuple(self.text(result, c, r) for c in range(columns)) for r in range(rows)]
        finally:
            self.library.duckdb_destroy_result(ctypes.byref(result))
            os.chdir(before)


CONFIGURATION = """<yandex>
<logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<tcp_port>{port}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>268435456</mark_cache_size>
<remote_servers><fleet>{shards}</fleet></remote_servers>
</yandex>
"""
USERS = """<yandex>
<profiles><default><insert_distributed_sync>1</insert_distributed_sync></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
<quotas><default></default></quotas>
</yandex>
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class ClickHouse:
    """Two servers on loopback, each with one shard of every table."""

    def __init__(self, shards=2):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tally-clickhouse-"))
        self.ports = free_ports(shards)
        self.servers = []
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        shards = "".join(f"<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>" for port in self.ports)
        for port in self.ports:
            folder = self.folder / str(port)
            (folder / "data").mkdir(parents=True)
            (folder / "config.xml").write_text(CONFIGURATION.format(folder=folder, port=port, shards=shards))
            (folder / "users.xml").write_text(USERS)
            with open(folder / "output", "wb") as output:
                self.servers.append(subprocess.Popen(["clickhouse-server", f"--config-file={folder}/config.xml"], cwd=folder,
                                                     stdin=subprocess.DEVNULL, stdout=output, stderr=output))
        for number, port in enumerate(self.ports):
            self.wait_for(number, port)
        for name in ("clickhouse.sql", "views.sql"):
            for port in self.ports:
                self.client(port, "--multiquery", input=(SQL / name).read_bytes())

    def wait_for(self, number, port):
        """A server does not say when it listens."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.servers[number].poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError((self.folder / str(port) / "output").read_text() + (self.folder / str(port) / "errors").read_text())

    def client(self, port, *arguments, **options):
        done = subprocess.run(["clickhouse-client", "--host", "127.0.0.1", "--port", str(port), *arguments], capture_output=True,
                              timeout=600, **options)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())
        return done.stdout

    def insert(self, data_set, folders="commit=*"):
        for table in TABLES:
            files = sorted(str(path) for path in pathlib.Path(data_set).glob(f"{folders}/device=*/scene=*/capture=*/{table}.jsonl"))
            cat = subprocess.Popen(["xargs", "-0", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            insert = subprocess.Popen(["clickhouse-client", "--host", "127.0.0.1", "--port", str(self.ports[0]), "--query",
                                       f"INSERT INTO {table} FORMAT JSONEachRow"], stdin=cat.stdout, stderr=subprocess.PIPE)
            cat.stdout.close()
            cat.stdin.write("\0".join(files).encode())
            cat.stdin.close()
            _, error = insert.communicate(timeout=600)
            if cat.wait() != 0 or insert.returncode != 0:
                raise RuntimeError(error.decode())

    def query(self, sql, shard=0):
        text = self.client(self.ports[shard], "--query", sql).decode()
        return [tuple(row.split("\t")) for row in text.splitlines()]

    def close(self):
        for server in self.servers:
            server.terminate()
        for server in self.servers:
            try:
                server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        shutil.rmtree(self.folder)
