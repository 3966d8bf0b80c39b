"""Repositories that nginx and git-http-backend serve."""
import os

from . import shell

ENV = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a",
       "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_TERMINAL_PROMPT": "0"}

# What a server block holds for what is below location.
LOCATION = """
    location ~ ^{location} {{ {more}
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
      fastcgi_param GIT_PROJECT_ROOT {folder}/repos;
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param REMOTE_USER guest;
      fastcgi_param PATH_INFO $uri;
      fastcgi_request_buffering off;
      fastcgi_pass unix:{folder}/fcgi.sock; }}
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


def start_backend(w):
    """What LOCATION passes to."""
    backend = shell.start(
        w.net.plain(["fcgiwrap", "-s", f"unix:{w.folder}/fcgi.sock"]),
        f"{w.folder}/fcgi.log")
    w.closers.append(lambda: shell.stop(backend))
