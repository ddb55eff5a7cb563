"""Starts Spark on loopback from the `pyspark` package: a Connect server alone, or as the driver of a standalone cluster."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 120
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


class Spark:
    """Processes of Spark; leaving the context ends all of them."""

    def __init__(self, folder):
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.folder = Path(folder)
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)

    def start(self, name, *command):
        """A process in a group of its own, so that what it starts ends with it."""
        log = (self.folder / f"{name}.log").open("w")
        environment = os.environ | {
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_WORKER_DIR": str(self.folder / "work"),
            "SPARK_NO_DAEMONIZE": "1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "512m",
        }
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=environment,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def spark_class(self, name, *arguments):
        return self.start(name, self.home / "bin/spark-class", *arguments)

    def connect_server(self, master, **settings):
        """The address of a Connect server whose jobs run on `master`."""
        port = free_port()
        configuration = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": port,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.warehouse.dir": self.folder / "warehouse",
            # The data of these tests are small.
            "spark.sql.shuffle.partitions": 4,
            # Streams of responses end while the work goes on, as they do after two minutes of a long step.
            "spark.connect.execute.reattachable.senderMaxStreamDuration": "200ms",
        } | settings
        options = [f"--conf={key}={value}" for key, value in configuration.items()]
        process = self.start("connect", self.home / "bin/spark-submit", "--master", master, "--class", CONNECT, *options, "spark-internal")
        self.wait("connect", process, lambda: answers(port))
        return f"sc://127.0.0.1:{port}"

    def cluster(self, workers=2):
        """The address of a standalone master, and its workers' processes."""
        port, ui = free_port(), free_port()
        master = self.spark_class("master", MASTER, "--host", "127.0.0.1", "--port", port, "--webui-port", ui)
        self.wait("master", master, lambda: answers(port))
        url = f"spark://127.0.0.1:{port}"
        found = []
        for number in range(workers):
            options = ["--host", "127.0.0.1", "--cores", 1, "--memory", "1g", "--webui-port", free_port()]
            worker = self.spark_class(f"worker-{number}", WORKER, *options, url)
            self.wait(f"worker-{number}", worker, lambda: "Successfully registered" in self.log(f"worker-{number}"))
            found.append(worker)
        return url, found

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def wait(self, name, process, ready):
        begin = time.monotonic()
        while not ready():
            ended = process.poll() is not None
            if ended or time.monotonic() - begin > PATIENCE:
                state = "ended" if ended else "is not ready"
                raise RuntimeError(f"Spark's {name} {state}:\n{self.log(name)[-2000:]}")
            time.sleep(0.2)


def end(process):
    """Ends a process and what it started."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
            process.wait(20)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        if kind == signal.SIGKILL:
            return
