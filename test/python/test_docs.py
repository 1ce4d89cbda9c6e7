"""Every Python program in docs/clients.md does what it says."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import common

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "clients.md"
ADDRESS = "http://127.0.0.1:8080"


class Programs(unittest.TestCase):
    def test_each_says_hello(self):
        programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        self.assertGreaterEqual(len(programs), 4)
        for program in programs:
            with self.subTest(program=program.split("\n", 1)[0]):
                self.assertEqual(self.output(program.replace(ADDRESS, common.GATEWAY.url)), "Hello\n")

    def output(self, program):
        env = {**os.environ, "POLYGATE_KEY": common.GATEWAY.key}
        return subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True).stdout
