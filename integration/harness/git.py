"""Repositories that nginx and git-http-backend serve."""
import os
import socketserver
import subprocess
import threading
from http.server import BaseHTTPRequestHandler

from . import shell

ENV = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a",
       "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_TERMINAL_PROMPT": "0"}

# What a server block holds for what is below location.
LOCATION = """
    location ~ ^{location} {{ {more}
      proxy_http_version 1.1;
      proxy_pass http://unix:{folder}/git.sock; }}
"""


def git(*argv, cwd=None):
    """Outside any sandbox."""
    return shell.run(["git", *argv], cwd=cwd, env={**os.environ, **ENV}).ok()


def make_repository(folder, name, files=()):
    """repos/NAME.git with one commit of files: (path, bytes)."""
    os.makedirs(f"{folder}/repos", exist_ok=True)
    work = f"{folder}/seed-{name}"
    git("init", "-q", "-b", "main", work)
    for path, data in files:
        with open(f"{work}/{path}", "wb") as f:
            f.write(data)
    git("add", "-A", cwd=work)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=work)
    bare = f"{folder}/repos/{name}.git"
    git("clone", "-q", "--bare", work, bare)
    git("config", "http.receivepack", "true", cwd=bare)
    return bare


class Handler(BaseHTTPRequestHandler):
    """git-http-backend(1) by CGI (RFC 3875): a process for each request, whose
    body nginx has gathered."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.server.allows(self.headers.get("Authorization", "")):
            self.send_response_only(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        env = {"PATH": os.environ["PATH"], "REQUEST_METHOD": self.command,
               "PATH_INFO": path, "QUERY_STRING": query,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""),
               "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING":
                   self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
               "GIT_PROJECT_ROOT": self.server.root,
               "GIT_HTTP_EXPORT_ALL": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
               "REMOTE_USER": "guest", "REMOTE_ADDR": "127.0.0.1"}
        got = subprocess.run(["/usr/lib/git-core/git-http-backend"], env=env,
                             input=body, stdout=subprocess.PIPE, check=False)
        head, _, text = got.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1)
                  for line in head.decode("latin-1").split("\r\n") if line]
        status = dict(fields).get("Status", "200 OK")
        self.send_response_only(int(status.split(" ")[0]))
        for name, value in fields:
            if name not in ("Status", "Content-Length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def handle(self):
        try:
            super().handle()
        except OSError:  # whoever asked has gone
            pass

    do_GET = do_HEAD = do_POST = answer

    def log_message(self, format, *args):
        pass


class Backend(socketserver.ThreadingUnixStreamServer):
    """Behind nginx, at folder/NAME.sock."""

    daemon_threads = True

    def __init__(self, folder, name, handler):
        super().__init__(f"{folder}/{name}.sock", handler)


class GitBackend(Backend):
    def __init__(self, folder, allows):
        self.root, self.allows = f"{folder}/repos", allows
        super().__init__(folder, "git", Handler)


def start_backend(w, allows=lambda authorization: True):
    """What LOCATION passes to, for those whom allows takes."""
    run_backend(w, GitBackend(w.folder, allows))


def run_backend(w, backend):
    """Serves until the world ends."""
    thread = threading.Thread(target=backend.serve_forever, daemon=True)
    thread.start()

    def close():
        backend.shutdown()
        backend.server_close()
        thread.join()

    w.closers.append(close)
