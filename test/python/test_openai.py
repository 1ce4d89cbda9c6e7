"""The Python SDK of chat completions, against the sandbox and models of every protocol."""

import base64
import json

import common
import openai
from common import Cases, entered, listed, settled

WEATHER = {"name": "weather", "parameters": common.WEATHER, "strict": True}
CLOCK = {
    "name": "clock",
    "parameters": {**common.CLOCK, "required": ["zone"], "additionalProperties": False},
    "strict": True,
}
TOOLS = [{"type": "function", "function": function} for function in (WEATHER, CLOCK)]


def user(content):
    return [{"role": "user", "content": content}]


def result(call, content):
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def arguments_of(message):
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]


class OpenaiCases:
    client_class = openai.OpenAI

    def connect(self, gateway=common.GATEWAY):
        return self.closing(self.client_class(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0))

    async def ask(self, client, **params):
        return await settled(client.chat.completions.create(**{"model": "sandbox/echo", **params}))

    async def helped(self, client, **params):
        """The same by the stream helper, which puts the answer together."""
        async with entered(client.chat.completions.stream(**{"model": "sandbox/echo", **params})) as stream:
            await listed(stream)
            return await settled(stream.get_final_completion())

    async def test_text_comes_back_whole(self):
        answer = await self.ask(self.connect(), messages=user(common.ODD))
        [choice] = answer.choices
        self.assertEqual(choice.message.content, common.ODD)
        self.assertEqual([choice.finish_reason, answer.model], ["stop", "sandbox/echo"])
        self.assertRegex(answer._request_id, "^req_")

    async def test_a_stream_is_the_text(self):
        chunks = await listed(await self.ask(self.connect(), messages=user(common.ODD), stream=True))
        self.assertGreater(len(chunks), 3)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks), common.ODD)
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")

    async def test_usage_is_what_the_model_counted(self):
        client = self.connect()
        params = {"messages": user(common.GREETING)}
        whole = await self.ask(client, **params)
        chunks = await listed(await self.ask(client, **params, stream=True, stream_options={"include_usage": True}))
        helped = await self.helped(client, **params, stream_options={"include_usage": True})
        for usage in (whole.usage, chunks[-1].usage, helped.usage):
            self.assertEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [4, 4, 8])

    async def test_parallel_calls_whole_and_streamed(self):
        client = self.connect()
        params = {"model": "sandbox/tools", "messages": user("All in parallel"), "tools": TOOLS}
        for ask in (self.ask, self.helped):
            [choice] = (await ask(client, **params)).choices
            expected = [("weather", common.WEATHER_ARGS), ("clock", {"zone": "sandbox"})]
            self.assertEqual(arguments_of(choice.message), expected)
            self.assertEqual(choice.finish_reason, "tool_calls")
            self.assertEqual(len({call.id for call in choice.message.tool_calls}), 2)

    async def test_a_model_as_a_tool_is_parsed(self):
        tools = [openai.pydantic_function_tool(common.Person)]
        params = {"model": "sandbox/tools", "messages": user("Ada"), "tools": tools}
        whole = await settled(self.connect().chat.completions.parse(**params))
        for answer in (whole, await self.helped(self.connect(), **params)):
            [call] = answer.choices[0].message.tool_calls
            self.assertEqual(call.function.parsed_arguments.name, "sandbox")

    async def test_a_loop_of_three_turns_with_a_model_of_every_protocol(self):
        client = self.connect(common.PROVIDED)
        for protocol in common.PROTOCOLS:
            for ask in (self.ask, self.helped):
                with self.subTest(protocol=protocol, ask=ask.__name__):
                    await self.loop(protocol, lambda **params: ask(client, **params))

    async def loop(self, protocol, ask):
        messages = user("Weather?")
        params = {"model": f"{protocol}/m", "tools": TOOLS, "reasoning_effort": "low"}
        first = (await ask(**params, messages=messages)).choices[0].message
        self.assertEqual(arguments_of(first), [("weather", common.LOOP.weather)])
        messages += [first, result(first.tool_calls[0], "sunny")]
        answer = await ask(**params, messages=messages)
        second = answer.choices[0].message
        self.assertEqual(arguments_of(second), [("weather", common.LOOP.weather), ("clock", common.LOOP.clock)])
        for message in (first, second):
            self.assertEqual(message.reasoning_content, common.LOOP.thought)
        messages += [second, *(result(call, "sunny") for call in second.tool_calls)]
        last = (await ask(**params, messages=messages)).choices[0]
        self.assertEqual([last.message.content, last.finish_reason], [common.LOOP.text, "stop"])
        asked = common.last_asked(protocol)
        self.assertEqual(asked.count(common.LOOP.signature), 0 if protocol == "chat" else 2, asked)

    async def test_the_helper_parses_a_json_schema(self):
        client = self.connect()
        params = {"messages": user("Ada"), "response_format": common.Person}
        whole = await settled(client.chat.completions.parse(model="sandbox/echo", **params))
        for answer in (whole, await self.helped(client, **params)):
            self.assertEqual(answer.choices[0].message.parsed.name, "Ada")
        mode = await self.ask(client, messages=user("hi"), response_format={"type": "json_object"})
        self.assertEqual(json.loads(mode.choices[0].message.content), {"text": "hi"})

    async def test_images_reach_the_model(self):
        url = f"data:image/png;base64,{base64.b64encode(common.PNG).decode()}"
        content = [
            {"type": "text", "text": "See"},
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ]
        answer = await self.ask(self.connect(), messages=user(content))
        expected = "See\n[image image/png, 8 bytes]\n[image https://example.com/a.png]"
        self.assertEqual(answer.choices[0].message.content, expected)

    async def test_reasoning_is_visible_and_counted(self):
        client = self.connect()
        params = {"model": "sandbox/reasoner", "messages": user("one two"), "reasoning_effort": "low"}
        for ask in (self.ask, self.helped):
            answer = await ask(client, **params)
            message = answer.choices[0].message
            self.assertEqual([message.reasoning, message.content], [common.THOUGHTS, "one two"])
        whole = await self.ask(client, **params)
        self.assertGreater(whole.usage.completion_tokens_details.reasoning_tokens, 10)

    async def test_the_model_list_and_a_model(self):
        client = self.connect()
        self.assertIn("sandbox/echo", [model.id for model in await listed(client.models.list())])
        model = await settled(client.models.retrieve("sandbox/echo"))
        self.assertEqual([model.id, model.object, model.owned_by], ["sandbox/echo", "model", "sandbox"])

    async def test_errors_have_their_classes(self):
        client = self.connect()

        def faulty(words, **params):
            return lambda: self.ask(client, **{"model": "sandbox/faulty", "messages": user(words), **params})

        stranger = client.with_options(api_key="sk-wrong")
        error = await self.rejection(
            openai.AuthenticationError, lambda: self.ask(stranger, messages=user("hi"))
        )
        self.assertEqual(error.code, "invalid_api_key")
        self.assertRegex(error.request_id, "^req_")
        error = await self.rejection(openai.NotFoundError, faulty("hi", model="sandbox/none"))
        self.assertEqual([error.code, error.param], ["model_not_found", "model"])
        await self.rejection(openai.NotFoundError, lambda: client.models.retrieve("sandbox/none"))
        error = await self.rejection(openai.BadRequestError, faulty("hi", temperature=3))
        self.assertEqual(error.param, "temperature")
        for stream in (False, True):
            error = await self.rejection(openai.RateLimitError, faulty("status 429", stream=stream))
            self.assertEqual(error.response.headers["retry-after"], "1")
            for words in ("status 500", "status 401", "status 529", "garbage", "empty", "error in 200"):
                await self.rejection(openai.InternalServerError, faulty(words, stream=stream))

    async def test_a_stream_that_breaks_raises(self):
        client = self.connect()
        for words in ("cut after 3", "end after 3", "error in stream after 2"):
            params = {"model": "sandbox/faulty", "messages": user(words)}
            error = await self.rejection(openai.APIError, lambda: self.ask(client, **params, stream=True))
            self.assertEqual(error.type, "server_error")
            await self.rejection(openai.APIError, lambda: self.helped(client, **params))

    async def test_a_stream_can_be_given_up(self):
        stream = await self.ask(self.connect(), model="sandbox/faulty", messages=user("hang after 3"), stream=True)
        await settled(stream.close())

    async def test_a_rate_limit_is_retried_by_the_sdk(self):
        client = self.connect().with_options(max_retries=1)
        params = {"model": "sandbox/faulty", "messages": user("status 429")}
        error = await self.rejection(openai.RateLimitError, lambda: self.ask(client, **params))
        self.assertEqual(error.request.headers["x-stainless-retry-count"], "1")


class Waiting(OpenaiCases, Cases):
    """openai.OpenAI"""


class Awaiting(OpenaiCases, Cases):
    """openai.AsyncOpenAI"""

    client_class = openai.AsyncOpenAI
