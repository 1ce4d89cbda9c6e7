"""Where the gateway is, what the tests send, and one way to use clients that wait and clients that await."""

import asyncio
import contextlib
import inspect
import json
import os
import unittest
import urllib.request
from types import SimpleNamespace as Connection

from pydantic import BaseModel, ConfigDict


def _named(name):
    return Connection(**json.loads(os.environ[name]))


GATEWAY = _named("GATEWAY")
"""A gateway without configuration: it has the sandbox."""
PROVIDED = _named("PROVIDED")
"""A gateway in front of `chat/m`, `messages/m`, `generate/m` and `responses/m`, which think and call tools for two turns."""
LOOP = _named("LOOP")
"""What those models say."""
PROTOCOLS = ["chat", "messages", "generate", "responses"]

GREETING = "Hello,  world!"
"""Four tokens in the sandbox's count."""
ODD = 'grüß dich 🦊 "quoted" \\ back\u2028line 中文'
"""Text that breaks where bytes are taken for characters."""
PNG = b"\x89PNG\r\n\x1a\n"
"""A PNG's first bytes; nothing decodes them."""
THOUGHTS = 'Step 1: the user wrote "one".\nStep 2: the user wrote "two".'
"""What sandbox/reasoner thinks of "one two" with little effort."""

_CITY = {"type": "string", "description": "Where"}
WEATHER = {
    "type": "object",
    "properties": {"city": _CITY, "days": {"type": "integer", "minimum": 2}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
WEATHER_ARGS = {"city": "sandbox", "days": 2}
"""What the sandbox calls it with."""
CLOCK = {"type": "object", "properties": {"zone": {"type": "string"}}}


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    age: int


def last_asked(protocol):
    """The request that the provider of this protocol got last."""
    with urllib.request.urlopen(f"{os.environ['RECORDER']}/{protocol}") as response:
        return response.read().decode()


async def settled(value):
    """What a client gives, awaited if it has to be."""
    return await value if inspect.isawaitable(value) else value


async def listed(stream):
    """All items of a stream or of the pages of a list, of either kind of client."""
    stream = await settled(stream)
    if hasattr(stream, "__aiter__"):
        return [item async for item in stream]
    return list(stream)


@contextlib.asynccontextmanager
async def entered(manager):
    """A stream helper of either kind of client."""
    if hasattr(manager, "__aenter__"):
        async with manager as stream:
            yield stream
    else:
        with manager as stream:
            yield stream


class Cases(unittest.IsolatedAsyncioTestCase):
    """Tests of a client; a subclass runs them with one kind of it."""

    maxDiff = None

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)

    def closing(self, client, close="close"):
        """The client, whose connections end with the test."""

        async def closed():
            await settled(getattr(client, close)())

        self.addAsyncCleanup(closed)
        return client

    async def rejection(self, error, call):
        """The error of this class that reading all of a call must end with; `call` is not called before."""
        with self.assertRaises(error) as caught:
            answer = await settled(call())
            if hasattr(answer, "__aiter__") or hasattr(answer, "__next__"):
                await listed(answer)
        return caught.exception
