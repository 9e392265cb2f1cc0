# SPDX-License-Identifier: Apache-2.0
"""Builds the client programs of tests/programs and the npm packages, once, into the build folder.
What cannot be had here is None with a reason, and the cases that need it are skipped with it."""

import fcntl
import os
import shutil
import subprocess

from harness import sandbox

_HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.normpath(os.path.join(_HERE, "..", "..", "programs"))


def _newer(source, target):
    if not os.path.exists(target):
        return True
    built = os.path.getmtime(target)
    files = [source] if os.path.isfile(source) else [
        os.path.join(folder, name) for folder, _, names in os.walk(source) for name in names]
    return any(os.path.getmtime(path) > built for path in files)


def _run(argv, cwd=None, env=None, what=None):
    result = subprocess.run(argv, cwd=cwd, env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{what or argv[0]} failed:\n{result.stdout[-2000:]}")


class Programs:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.source = SOURCE
        self.go = os.path.join(self.folder, "go-client")
        self.java = os.path.join(self.folder, "java")
        self.deny_connect = os.path.join(self.folder, "deny_connect")
        self.connects = os.path.join(self.folder, "connects")
        self.mcp = os.path.join(self.folder, "mcp")
        self.debian_node = os.path.join(self.folder, "debian-node")
        self.debian_node_reason = ""
        self.static_node_reason = ""

    # `small`: only what tools/try needs.
    def build(self, say=lambda text: None, small=False):
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._npm(say)
            self._c_program("deny_connect", say)
            if small:
                return self
            self._c_program("connects", say, "-luring", "-lpthread")
            if _newer(os.path.join(SOURCE, "go"), self.go):
                say("compiling the Go client")
                _run(["go", "build", "-o", self.go, "."], cwd=os.path.join(SOURCE, "go"),
                     env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off",
                          "CGO_ENABLED": "0"})
            if _newer(os.path.join(SOURCE, "java"), os.path.join(self.java, "Client.class")):
                say("compiling the Java client")
                os.makedirs(self.java, exist_ok=True)
                _run(["javac", "-d", self.java, os.path.join(SOURCE, "java", "Client.java")])
            self._nodes(say)
        return self

    def _c_program(self, name, say, *flags):
        source = os.path.join(SOURCE, "c", name + ".c")
        target = os.path.join(self.folder, name)
        if _newer(source, target):
            say(f"compiling {name}.c")
            _run(["cc", "-Wall", "-Wextra", "-O1", "-g", "-o", target, source, *flags])

    def _npm(self, say):
        source = os.path.join(SOURCE, "mcp")
        stamp = os.path.join(self.mcp, "node_modules", ".package-lock.json")
        os.makedirs(self.mcp, exist_ok=True)
        stale = _newer(os.path.join(source, "package-lock.json"), stamp)
        for name in os.listdir(source):
            if os.path.isfile(os.path.join(source, name)):
                shutil.copy2(os.path.join(source, name), self.mcp)
        if stale:
            say("installing the MCP client and server (npm ci)")
            _run(["npm", "ci", "--no-progress"], cwd=self.mcp, what="npm ci")
            os.utime(stamp)

    def _nodes(self, say):
        """Which of the two kinds of Node there are: with its own OpenSSL inside, and Debian's,
        which links libssl.so.3."""
        linked = subprocess.run(["sh", "-c", 'ldd "$(readlink -f "$(command -v node)")"'],
                                capture_output=True, text=True).stdout
        if "libssl" in linked or "libnode" in linked:
            self.static_node_reason = "the node of this host links libssl; no static build here"
            self.debian_node = None
            return
        marker = os.path.join(self.debian_node, "complete")
        if os.path.exists(marker):
            return
        say("unpacking Debian's own nodejs")
        shutil.rmtree(self.debian_node, ignore_errors=True)
        os.makedirs(self.debian_node)
        line = r"""
set -e
version=$(apt-cache madison nodejs | awk '$3 ~ /deb12/ {print $3; exit}')
test -n "$version"
apt-get download -q "nodejs=$version" "libnode108=$version" node-acorn node-cjs-module-lexer \
  node-undici
libraries=$(dpkg-deb -f libnode108_*.deb Depends | tr ',' '\n' | awk '$1 ~ /^lib/ {print $1}')
for library in $libraries; do
  dpkg-query -W "$library" >/dev/null 2>&1 || apt-get download -q "$library"
done
for package in *.deb; do dpkg-deb -x "$package" root; done
rm -f -- *.deb
touch complete
"""
        result = subprocess.run(["sh", "-c", line], cwd=self.debian_node, capture_output=True,
                                text=True)
        if result.returncode != 0:
            last = (result.stderr.strip().splitlines() or ["?"])[-1]
            self.debian_node_reason = f"Debian's nodejs could not be downloaded: {last}"

    def debian_node_command(self):
        """Only inside a case's own mount namespace: the packages' /usr/share is laid over."""
        if self.debian_node is None:
            return ["node"]
        root = os.path.join(self.debian_node, "root")
        if not os.path.exists("/usr/share/nodejs/cjs-module-lexer/lexer.js"):
            sandbox.mount("overlay", "/usr/share", "overlay",
                          data=f"lowerdir={root}/usr/share:/usr/share")
        return ["env", f"LD_LIBRARY_PATH={root}/usr/lib/x86_64-linux-gnu", f"{root}/usr/bin/node"]
