"""The Python SDK of generateContent, against the sandbox and models of every protocol."""

import json
from functools import partial

import common
from common import Cases, listed, settled
from google import genai
from google.genai import errors, types

WEATHER = types.FunctionDeclaration(name="weather", parameters_json_schema=common.WEATHER)
CLOCK = types.FunctionDeclaration(name="clock", description="The time", parameters_json_schema=common.CLOCK)
TOOLS = [types.Tool(function_declarations=[WEATHER, CLOCK])]
THINKING = types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW)


def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def clock(zone: str) -> str:
    """The time in a zone."""
    return f"noon in {zone}"


def parts_of(chunks):
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]


def said(chunks, thought=False):
    return "".join(part.text or "" for part in parts_of(chunks) if bool(part.thought) == thought)


def calls_of(chunks):
    return [part.function_call for part in parts_of(chunks) if part.function_call]


def arguments_of(chunks):
    return [(call.name, call.args) for call in calls_of(chunks)]


def result(call, output):
    response = types.FunctionResponse(id=call.id, name=call.name, response={"output": output})
    return types.Part(function_response=response)


class GenaiCases:
    """`ask` and `stream` both give a list of chunks; a whole answer is one."""

    def connect(self, gateway=common.GATEWAY):
        options = types.HttpOptions(base_url=f"{gateway.url}/gemini")
        return self.kind(self.closing(genai.Client(api_key=gateway.key, http_options=options)))

    async def ask(self, client, contents, model="sandbox/echo", **config):
        return [await settled(client.models.generate_content(model=model, contents=contents, config=config))]

    async def stream(self, client, contents, model="sandbox/echo", **config):
        return await listed(client.models.generate_content_stream(model=model, contents=contents, config=config))

    async def test_text_comes_back_whole(self):
        [answer] = await self.ask(self.connect(), common.ODD)
        self.assertEqual([answer.text, answer.model_version], [common.ODD, "sandbox/echo"])
        self.assertEqual(answer.candidates[0].finish_reason, types.FinishReason.STOP)
        self.assertRegex(json.dumps(answer.sdk_http_response.headers), "req_")

    async def test_a_stream_is_the_text(self):
        chunks = await self.stream(self.connect(), common.ODD)
        self.assertGreater(len(chunks), 3)
        self.assertEqual("".join(chunk.text or "" for chunk in chunks), common.ODD)
        self.assertEqual(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)

    async def test_usage_is_what_the_model_counted(self):
        for ask in (self.ask, self.stream):
            usage = (await ask(self.connect(), common.GREETING))[-1].usage_metadata
            counts = [usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count]
            self.assertEqual(counts, [4, 4, 8])

    async def test_parallel_calls_whole_and_streamed(self):
        for ask in (self.ask, self.stream):
            answer = await ask(self.connect(), "All in parallel", model="sandbox/tools", tools=TOOLS)
            expected = [("weather", common.WEATHER_ARGS), ("clock", {"zone": "sandbox"})]
            self.assertEqual(arguments_of(answer), expected)
            self.assertEqual(len({call.id for call in calls_of(answer)}), 2)

    async def test_the_sdk_runs_the_tools_itself(self):
        chat = self.connect().chats.create(model="sandbox/tools", config={"tools": [weather]})
        expected = 'weather answered: {"result":"rain in sandbox"}'
        self.assertEqual((await settled(chat.send_message("Weather?"))).text, expected)
        self.assertEqual(said(await listed(chat.send_message_stream("Again?"))), expected)

    async def test_the_sdk_runs_the_tools_of_a_streamed_model_that_thinks(self):
        """It keeps each chunk as a content of its own, so that a thought and its signature come back in pieces."""
        client = self.connect(common.PROVIDED)
        tools = {"tools": [weather, clock], "thinking_config": THINKING}
        for protocol in common.PROTOCOLS:
            with self.subTest(protocol=protocol):
                chunks = await self.stream(client, "Weather?", model=f"{protocol}/m", **tools)
                self.assertTrue(said(chunks).endswith(common.LOOP.text))
                asked = common.last_asked(protocol)
                self.assertEqual(asked.count(common.LOOP.signature), 0 if protocol == "chat" else 2, asked)
                if protocol == "messages":
                    blocks = [block for turn in json.loads(asked)["messages"] for block in turn["content"]]
                    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
                    self.assertEqual(thoughts, [common.LOOP.thought] * 2)

    async def test_a_loop_of_three_turns_with_a_model_of_every_protocol(self):
        client = self.connect(common.PROVIDED)
        for protocol in common.PROTOCOLS:
            for ask in (self.ask, self.stream):
                with self.subTest(protocol=protocol, ask=ask.__name__):
                    await self.loop(protocol, lambda *turns, **params: ask(client, *turns, **params))

    async def loop(self, protocol, ask):
        contents = [types.Content(role="user", parts=[types.Part(text="Weather?")])]
        params = {"model": f"{protocol}/m", "tools": TOOLS, "thinking_config": THINKING}
        first = await ask(contents, **params)
        self.assertEqual(arguments_of(first), [("weather", common.LOOP.weather)])
        contents += [types.Content(role="model", parts=parts_of(first))]
        contents += [types.Content(role="user", parts=[result(calls_of(first)[0], "sunny")])]
        second = await ask(contents, **params)
        self.assertEqual(arguments_of(second), [("weather", common.LOOP.weather), ("clock", common.LOOP.clock)])
        for answer in (first, second):
            self.assertEqual(said(answer, thought=True), common.LOOP.thought)
            usage = answer[-1].usage_metadata
            output = usage.candidates_token_count + (usage.thoughts_token_count or 0)
            self.assertEqual([usage.prompt_token_count, output], [10, 5])
        contents += [types.Content(role="model", parts=parts_of(second))]
        contents += [types.Content(role="user", parts=[result(call, "sunny") for call in calls_of(second)])]
        self.assertEqual(said(await ask(contents, **params)), common.LOOP.text)
        asked = common.last_asked(protocol)
        self.assertEqual(asked.count(common.LOOP.signature), 0 if protocol == "chat" else 2, asked)

    async def test_a_chat_keeps_the_conversation(self):
        chat = self.connect().chats.create(model="sandbox/tools", config={"tools": TOOLS})
        call = (await settled(chat.send_message("Go"))).function_calls[0]
        chunks = await listed(chat.send_message_stream(result(call, "rain")))
        self.assertEqual(said(chunks), "weather answered: rain")
        self.assertEqual((await settled(chat.send_message("Again"))).function_calls[0].name, "weather")

    async def test_a_json_schema_is_kept_to_and_parsed(self):
        client = self.connect()
        [answer] = await self.ask(client, "Ada", response_mime_type="application/json", response_schema=common.Person)
        self.assertEqual(answer.parsed.name, "Ada")
        schema = common.Person.model_json_schema()
        [answer] = await self.ask(client, "Ada", response_mime_type="application/json", response_json_schema=schema)
        self.assertEqual(common.Person.model_validate_json(answer.text).name, "Ada")
        chunks = await self.stream(client, "Ada", response_mime_type="application/json", response_json_schema=schema)
        self.assertEqual(common.Person.model_validate_json(said(chunks)).name, "Ada")

    async def test_images_reach_the_model(self):
        contents = [
            "See",
            types.Part.from_bytes(data=common.PNG, mime_type="image/png"),
            types.Part.from_uri(file_uri="https://example.com/a.png", mime_type="image/png"),
        ]
        [answer] = await self.ask(self.connect(), contents)
        self.assertEqual(answer.text, "See\n[image image/png, 8 bytes]\n[image https://example.com/a.png]")

    async def test_reasoning_is_thoughts_counted_apart(self):
        for ask in (self.ask, self.stream):
            answer = await ask(self.connect(), "one two", model="sandbox/reasoner", thinking_config=THINKING)
            self.assertEqual([said(answer, thought=True), said(answer)], [common.THOUGHTS, "one two"])
            usage = answer[-1].usage_metadata
            self.assertGreater(usage.thoughts_token_count, 10)
            self.assertEqual(usage.candidates_token_count, 2)

    async def test_tokens_are_counted(self):
        count = await settled(self.connect().models.count_tokens(model="sandbox/echo", contents=common.GREETING))
        self.assertGreater(count.total_tokens, 0)

    async def test_the_model_list_and_a_model(self):
        client = self.connect()
        names = [model.name for model in await listed(client.models.list(config={"page_size": 2}))]
        self.assertIn("models/sandbox/echo", names)
        model = await settled(client.models.get(model="sandbox/echo"))
        self.assertEqual(model.name, "models/sandbox/echo")

    async def test_errors_have_their_classes(self):
        client = self.connect()

        async def failure(error, code, status, call):
            caught = await self.rejection(error, call)
            self.assertEqual([caught.code, caught.status], [code, status])
            return caught

        stranger = self.connect(common.Connection(url=common.GATEWAY.url, key="sk-wrong"))
        await failure(errors.ClientError, 401, "UNAUTHENTICATED", lambda: self.ask(stranger, "hi"))
        unknown = {"model": "sandbox/none"}
        await failure(errors.ClientError, 404, "NOT_FOUND", lambda: self.ask(client, "hi", **unknown))
        await failure(errors.ClientError, 404, "NOT_FOUND", lambda: client.models.get(**unknown))
        hot = partial(self.ask, client, "hi", temperature=3)
        self.assertIn("temperature", (await failure(errors.ClientError, 400, "INVALID_ARGUMENT", hot)).message)
        for ask in (self.ask, self.stream):
            faulty = partial(partial, ask, client, model="sandbox/faulty")
            await failure(errors.ClientError, 429, "RESOURCE_EXHAUSTED", faulty("status 429"))
            for words in ("status 500", "status 503", "status 401", "garbage", "empty", "error in 200"):
                await failure(errors.ServerError, 503, "UNAVAILABLE", faulty(words))

    async def test_a_stream_that_breaks_raises(self):
        for words in ("cut after 3", "end after 3", "error in stream after 2"):
            call = partial(self.stream, self.connect(), words, model="sandbox/faulty")
            self.assertEqual((await self.rejection(errors.ServerError, call)).code, 503)


class Waiting(GenaiCases, Cases):
    """genai.Client"""

    def kind(self, client):
        return client


class Awaiting(GenaiCases, Cases):
    """genai.Client(...).aio"""

    def kind(self, client):
        return self.closing(client.aio, "aclose")
