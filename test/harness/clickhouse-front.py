"""A server that speaks ClickHouse's HTTP interface as far as the gateway uses it, over the engine of the package chdb.

Arguments: the port of the loopback, and the folder of the data. Statements run one after the other.
"""
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chdb import session

DATABASE = session.Session(sys.argv[2])
LOCK = threading.Lock()
KNOWN = set()
# Queries over few rows are not worth compiling.
DATABASE.query("set compile_expressions = 0, compile_aggregate_expressions = 0, max_threads = 1")


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        statement = self.rfile.read(int(self.headers.get("content-length", 0))).decode("utf-8")
        name = self.headers.get("x-clickhouse-database", "default")
        try:
            with LOCK:
                if name not in KNOWN:
                    DATABASE.query(f"create database if not exists {name}")
                    KNOWN.add(name)
                DATABASE.query(f"use {name}")
                result = DATABASE.query(statement)
                body = bytes(result.bytes()) if result is not None else b""
            self.answer(200, body)
        except Exception as error:
            self.answer(500, str(error).encode("utf-8"))

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()
