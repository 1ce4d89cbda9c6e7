"""LiteLLM as a client, over each of the protocols that it speaks to servers."""

import base64
import json
from functools import partial

import common
import litellm
import openai
from common import Cases, settled
from test_openai import CLOCK, WEATHER, arguments_of, result, user

TOOLS = [{"type": "function", "function": function} for function in (WEATHER, CLOCK)]

BASES = {"openai": "/v1", "anthropic": "/anthropic", "gemini": "/gemini/v1beta"}
CAPABLE = {
    "mode": "chat",
    "supports_response_schema": True,
    "supports_native_structured_output": True,
    "supports_reasoning": True,
}
NAMES = {protocol: f"{protocol}/m" for protocol in common.PROTOCOLS} | {"responses": "aliased/m"}
"""The model of each protocol. To LiteLLM, `responses/` before a name is an order to speak that protocol."""


def setUpModule():
    """LiteLLM sends schemas and effort only to models of which it knows that they take them."""
    litellm.suppress_debug_info = True
    names = [*NAMES.values(), "sandbox/echo", "sandbox/reasoner"]
    litellm.register_model(
        {f"{route}/{name}": {"litellm_provider": route, **CAPABLE} for route in BASES for name in names}
    )


class LitellmCases:
    """`route` is how LiteLLM calls the protocol. All its errors are of classes of the openai SDK."""

    async def ask(self, messages, model="sandbox/echo", gateway=common.GATEWAY, **params):
        return await settled(
            self.completion(
                model=f"{self.route}/{model}",
                messages=messages,
                api_base=gateway.url + BASES[self.route],
                **{"api_key": gateway.key, "num_retries": 0, "max_retries": 0, **params},
            )
        )

    async def stream(self, messages, **params):
        """All chunks, put together by LiteLLM."""
        options = {"include_usage": True}
        chunks = await self.read(await self.ask(messages, **params, stream=True, stream_options=options))
        return litellm.stream_chunk_builder(chunks, messages=messages)

    async def test_text_comes_back_whole_and_streamed(self):
        for ask in (self.ask, self.stream):
            [choice] = (await ask(user(common.ODD))).choices
            self.assertEqual([choice.message.content, choice.finish_reason], [common.ODD, "stop"])

    async def test_usage_is_what_the_model_counted(self):
        for ask in (self.ask, self.stream):
            usage = (await ask(user(common.GREETING))).usage
            self.assertEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [4, 4, 8])

    async def test_parallel_calls_whole_and_streamed(self):
        for ask in (self.ask, self.stream):
            [choice] = (await ask(user("All in parallel"), model="sandbox/tools", tools=TOOLS)).choices
            expected = [("weather", common.WEATHER_ARGS), ("clock", {"zone": "sandbox"})]
            self.assertEqual(arguments_of(choice.message), expected)
            self.assertEqual(choice.finish_reason, "tool_calls")

    async def test_a_loop_of_three_turns_with_a_model_of_every_protocol(self):
        for protocol in common.PROTOCOLS:
            for ask in (self.ask, self.stream):
                with self.subTest(protocol=protocol, ask=ask.__name__):
                    await self.loop(protocol, ask)

    async def loop(self, protocol, ask):
        messages = user("Weather?")
        params = {"model": NAMES[protocol], "gateway": common.PROVIDED, "tools": TOOLS, "reasoning_effort": "low"}
        first = (await ask(messages, **params)).choices[0].message
        self.assertEqual(arguments_of(first), [("weather", common.LOOP.weather)])
        messages += [first.model_dump(), result(first.tool_calls[0], "sunny")]
        second = (await ask(messages, **params)).choices[0].message
        self.assertEqual(arguments_of(second), [("weather", common.LOOP.weather), ("clock", common.LOOP.clock)])
        for message in (first, second):
            self.assertEqual(message.reasoning_content, common.LOOP.thought)
        messages += [second.model_dump(), *(result(call, "sunny") for call in second.tool_calls)]
        last = (await ask(messages, **params)).choices[0]
        self.assertEqual([last.message.content, last.finish_reason], [common.LOOP.text, "stop"])
        asked = common.last_asked(protocol)
        if protocol == "chat":
            self.assertNotIn(common.LOOP.signature, asked)
        else:
            # It may put a text of its own between thoughts and calls, which is then signed too.
            self.assertGreaterEqual(asked.count(common.LOOP.signature), 2, asked)

    async def test_a_json_schema_is_kept_to(self):
        for ask in (self.ask, self.stream):
            answer = await ask(user("Ada"), response_format=common.Person)
            self.assertEqual(json.loads(answer.choices[0].message.content)["name"], "Ada")

    async def test_images_reach_the_model(self):
        url = f"data:image/png;base64,{base64.b64encode(common.PNG).decode()}"
        content = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": url}}]
        answer = await self.ask(user(content))
        self.assertEqual(answer.choices[0].message.content, "See\n[image image/png, 8 bytes]")

    async def test_reasoning_is_visible(self):
        for ask in (self.ask, self.stream):
            message = (await ask(user("one two"), model="sandbox/reasoner", reasoning_effort="low")).choices[0].message
            self.assertEqual([message.reasoning_content, message.content], [common.THOUGHTS, "one two"])

    async def test_errors_have_their_classes(self):
        wrong = {"api_key": "sk-wrong"}
        await self.rejection(litellm.AuthenticationError, lambda: self.ask(user("hi"), **wrong))
        await self.rejection(litellm.NotFoundError, lambda: self.ask(user("hi"), model="sandbox/none"))
        await self.rejection(litellm.BadRequestError, lambda: self.ask(user("hi"), temperature=3))
        for ask in (self.ask, self.stream):
            faulty = partial(ask, model="sandbox/faulty")
            error = await self.rejection(openai.APIStatusError, partial(faulty, user("status 429")))
            self.assertIn("litellm.RateLimitError", str(error))
            for words in ("status 500", "status 503", "status 401", "garbage", "empty", "error in 200"):
                await self.rejection(openai.APIError, partial(faulty, user(words)))

    async def test_a_stream_that_breaks_raises(self):
        for words in ("cut after 3", "end after 3", "error in stream after 2"):
            call = partial(self.stream, user(words), model="sandbox/faulty")
            await self.rejection(openai.APIError, call)


class Waiting(LitellmCases):
    completion = staticmethod(litellm.completion)

    async def read(self, stream):
        return list(stream)


class Awaiting(LitellmCases):
    completion = staticmethod(litellm.acompletion)

    async def read(self, stream):
        return [chunk async for chunk in stream]


class WaitingChat(Waiting, Cases):
    route = "openai"


class AwaitingChat(Awaiting, Cases):
    route = "openai"


class WaitingMessages(Waiting, Cases):
    route = "anthropic"


class AwaitingMessages(Awaiting, Cases):
    route = "anthropic"


class WaitingGenerate(Waiting, Cases):
    route = "gemini"


class AwaitingGenerate(Awaiting, Cases):
    route = "gemini"
