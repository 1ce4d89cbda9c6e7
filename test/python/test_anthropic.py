"""The Python SDK of messages, against the sandbox and models of every protocol."""

import base64
from functools import partial

import anthropic
import common
from common import Cases, entered, listed, settled

WEATHER = {"name": "weather", "description": "The weather in a city", "input_schema": common.WEATHER}
CLOCK = {"name": "clock", "input_schema": common.CLOCK}
TOOLS = [WEATHER, CLOCK]
THINKING = {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}}


def user(content):
    return {"role": "user", "content": content}


def result(call, content):
    return {"type": "tool_result", "tool_use_id": call.id, "content": content}


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def thinking_of(message):
    return "".join(block.thinking for block in message.content if block.type == "thinking")


def calls_of(message):
    return [block for block in message.content if block.type == "tool_use"]


def arguments_of(message):
    return [(call.name, call.input) for call in calls_of(message)]


class AnthropicCases:
    client_class = anthropic.Anthropic

    def connect(self, gateway=common.GATEWAY):
        url = f"{gateway.url}/anthropic"
        return self.closing(self.client_class(base_url=url, api_key=gateway.key, max_retries=0))

    def full(self, content, params):
        return {"model": "sandbox/echo", "max_tokens": 1000, "messages": [user(content)], **params}

    async def ask(self, client, content="", **params):
        return await settled(client.messages.create(**self.full(content, params)))

    async def helped(self, client, content="", **params):
        """The same by the stream helper, which puts the message together."""
        async with entered(client.messages.stream(**self.full(content, params))) as stream:
            return await settled(stream.get_final_message())

    async def test_text_comes_back_whole(self):
        answer = await self.ask(self.connect(), common.ODD)
        self.assertEqual(text_of(answer), common.ODD)
        self.assertEqual([answer.role, answer.model, answer.stop_reason], ["assistant", "sandbox/echo", "end_turn"])
        self.assertRegex(answer._request_id, "^req_")

    async def test_a_stream_is_the_text(self):
        client = self.connect()
        events = await listed(await self.ask(client, common.ODD, stream=True))
        deltas = [event.delta.text for event in events if event.type == "content_block_delta"]
        self.assertGreater(len(deltas), 3)
        self.assertEqual("".join(deltas), common.ODD)
        self.assertEqual(events[-1].type, "message_stop")
        async with entered(client.messages.stream(**self.full(common.ODD, {}))) as stream:
            self.assertEqual("".join(await listed(stream.text_stream)), common.ODD)

    async def test_usage_is_what_the_model_counted(self):
        for ask in (self.ask, self.helped):
            usage = (await ask(self.connect(), common.GREETING)).usage
            self.assertEqual([usage.input_tokens, usage.output_tokens], [4, 4])

    async def test_parallel_calls_whole_and_streamed(self):
        for ask in (self.ask, self.helped):
            answer = await ask(self.connect(), "All in parallel", model="sandbox/tools", tools=TOOLS)
            expected = [("weather", common.WEATHER_ARGS), ("clock", {"zone": "sandbox"})]
            self.assertEqual(arguments_of(answer), expected)
            self.assertEqual(answer.stop_reason, "tool_use")
            self.assertEqual(len({call.id for call in calls_of(answer)}), 2)

    async def test_the_sdk_runs_the_tools_itself(self):
        params = {"model": "sandbox/tools", "tools": [self.runnable()]}
        for stream in (False, True):
            runner = self.connect().beta.messages.tool_runner(**self.full("Weather?", params), stream=stream)
            self.assertEqual(text_of(await settled(runner.until_done())), "weather answered: rain in sandbox")

    def runnable(self):
        @anthropic.beta_tool
        def weather(city: str) -> str:
            """The weather in a city."""
            return f"rain in {city}"

        return weather

    async def test_a_loop_of_three_turns_with_a_model_of_every_protocol(self):
        client = self.connect(common.PROVIDED)
        for protocol in common.PROTOCOLS:
            for ask in (self.ask, self.helped):
                with self.subTest(protocol=protocol, ask=ask.__name__):
                    await self.loop(protocol, lambda **params: ask(client, **params))

    async def loop(self, protocol, ask):
        messages = [user("Weather?")]
        params = {"model": f"{protocol}/m", "tools": TOOLS, **THINKING}
        first = await ask(**params, messages=messages)
        self.assertEqual(arguments_of(first), [("weather", common.LOOP.weather)])
        messages += [{"role": "assistant", "content": first.content}]
        messages += [user([result(calls_of(first)[0], [{"type": "text", "text": "sunny"}])])]
        second = await ask(**params, messages=messages)
        self.assertEqual(arguments_of(second), [("weather", common.LOOP.weather), ("clock", common.LOOP.clock)])
        for message in (first, second):
            self.assertEqual(thinking_of(message), common.LOOP.thought)
            self.assertEqual([message.usage.input_tokens, message.usage.output_tokens], [10, 5])
        messages += [{"role": "assistant", "content": second.content}]
        messages += [user([result(call, "sunny") for call in calls_of(second)])]
        last = await ask(**params, messages=messages)
        self.assertEqual([text_of(last), last.stop_reason], [common.LOOP.text, "end_turn"])
        asked = common.last_asked(protocol)
        self.assertEqual(asked.count(common.LOOP.signature), 0 if protocol == "chat" else 2, asked)

    async def test_the_helper_parses_a_json_schema(self):
        client = self.connect()
        whole = await settled(client.messages.parse(**self.full("Ada", {"output_format": common.Person})))
        for answer in (whole, await self.helped(client, "Ada", output_format=common.Person)):
            self.assertEqual(answer.parsed_output.name, "Ada")

    async def test_images_reach_the_model(self):
        data = base64.b64encode(common.PNG).decode()
        content = [
            {"type": "text", "text": "See"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        ]
        answer = await self.ask(self.connect(), content)
        self.assertEqual(text_of(answer), "See\n[image image/png, 8 bytes]\n[image https://example.com/a.png]")

    async def test_reasoning_is_thinking(self):
        for ask in (self.ask, self.helped):
            answer = await ask(self.connect(), "one two", model="sandbox/reasoner", **THINKING)
            self.assertEqual([block.type for block in answer.content], ["thinking", "text"])
            self.assertEqual([thinking_of(answer), text_of(answer)], [common.THOUGHTS, "one two"])
            self.assertGreater(answer.usage.output_tokens, 12)

    async def test_tokens_are_counted(self):
        params = {"model": "sandbox/echo", "messages": [user(common.GREETING)], "system": "Be brief."}
        count = await settled(self.connect().messages.count_tokens(**params))
        self.assertGreater(count.input_tokens, 0)

    async def test_the_model_list_and_a_model(self):
        client = self.connect()
        self.assertIn("sandbox/echo", [model.id for model in await listed(client.models.list(limit=2))])
        model = await settled(client.models.retrieve("sandbox/echo"))
        self.assertEqual([model.id, model.type], ["sandbox/echo", "model"])

    async def test_errors_have_their_classes(self):
        client = self.connect()

        def faulty(words, **params):
            return lambda: self.ask(client, words, **{"model": "sandbox/faulty", **params})

        stranger = client.with_options(api_key="sk-wrong")
        error = await self.rejection(anthropic.AuthenticationError, lambda: self.ask(stranger, "hi"))
        self.assertEqual(error.body["error"]["type"], "authentication_error")
        self.assertRegex(error.request_id, "^req_")
        await self.rejection(anthropic.NotFoundError, faulty("hi", model="sandbox/none"))
        await self.rejection(anthropic.NotFoundError, lambda: client.models.retrieve("sandbox/none"))
        error = await self.rejection(anthropic.BadRequestError, faulty("hi", max_tokens=0))
        self.assertIn("max_tokens", error.message)
        for stream in (False, True):
            error = await self.rejection(anthropic.RateLimitError, faulty("status 429", stream=stream))
            self.assertEqual(error.response.headers["retry-after"], "1")
            await self.rejection(anthropic.OverloadedError, faulty("status 503", stream=stream))
            for words in ("status 500", "status 401", "garbage", "empty", "error in 200"):
                await self.rejection(anthropic.InternalServerError, faulty(words, stream=stream))

    async def test_a_stream_that_breaks_raises(self):
        client = self.connect()
        for words in ("cut after 3", "end after 3", "error in stream after 2"):
            for ask, more in ((self.ask, {"stream": True}), (self.helped, {})):
                call = partial(ask, client, words, model="sandbox/faulty", **more)
                error = await self.rejection(anthropic.APIStatusError, call)
                self.assertEqual(error.body["error"]["type"], "api_error")

    async def test_a_stream_can_be_given_up(self):
        await settled((await self.ask(self.connect(), "hang after 3", model="sandbox/faulty", stream=True)).close())


class Waiting(AnthropicCases, Cases):
    """anthropic.Anthropic"""


class Awaiting(AnthropicCases, Cases):
    """anthropic.AsyncAnthropic"""

    client_class = anthropic.AsyncAnthropic

    def runnable(self):
        @anthropic.beta_async_tool
        async def weather(city: str) -> str:
            """The weather in a city."""
            return f"rain in {city}"

        return weather
