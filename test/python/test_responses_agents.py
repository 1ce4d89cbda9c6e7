"""Agents over the Responses protocol with models of every protocol: openai-agents and LangChain, whole and streamed."""

import agents
import common
import openai
from common import Cases
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
MAX_TURNS = 4


class OpenaiAgents(Cases):
    """openai-agents, which sends the items of earlier responses back."""

    def agent(self, protocol, store):
        client = self.closing(
            openai.AsyncOpenAI(base_url=f"{common.PROVIDED.url}/v1", api_key=common.PROVIDED.key, max_retries=0)
        )

        async def run(context, arguments):
            self.calls.append(arguments)
            return "sunny"

        return agents.Agent(
            name="Weather",
            model=agents.OpenAIResponsesModel(f"{protocol}/m", client),
            model_settings=agents.ModelSettings(
                store=store,
                reasoning={"effort": "low", "summary": "auto"},
                response_include=["reasoning.encrypted_content"],
            ),
            tools=[
                agents.FunctionTool(
                    name=name,
                    description=name,
                    params_json_schema=schema,
                    on_invoke_tool=run,
                    strict_json_schema=False,
                )
                for name, schema in (("weather", WEATHER), ("clock", common.CLOCK))
            ],
        )

    async def test_three_turns(self):
        agents.set_tracing_disabled(True)
        for protocol in common.PROTOCOLS:
            for stream in (False, True):
                with self.subTest(protocol=protocol, stream=stream):
                    await self.run_agent(protocol, stream)

    async def test_three_turns_by_the_id_of_the_response_before(self):
        agents.set_tracing_disabled(True)
        for protocol in common.PROTOCOLS:
            with self.subTest(protocol=protocol):
                await self.run_agent(protocol, False, auto_previous_response_id=True)

    async def run_agent(self, protocol, stream, **options):
        self.calls = []
        agent = self.agent(protocol, bool(options))
        if stream:
            running = agents.Runner.run_streamed(agent, "Weather?", max_turns=MAX_TURNS)
            async for _ in running.stream_events():
                pass
        else:
            running = await agents.Runner.run(agent, "Weather?", max_turns=MAX_TURNS, **options)
        self.assertEqual(running.final_output, common.LOOP.text)
        self.assertEqual(len(self.calls), 3)
        asked = common.last_asked(protocol)
        self.assertEqual(asked.count(common.LOOP.signature), 0 if protocol == "chat" else 2, asked)


class LangChain(Cases):
    """ChatOpenAI with `use_responses_api`."""

    def model(self, name, gateway=common.PROVIDED, **options):
        return ChatOpenAI(
            model=name,
            base_url=f"{gateway.url}/v1",
            api_key=gateway.key,
            max_retries=0,
            use_responses_api=True,
            **options,
        )

    async def answer(self, model, messages, stream):
        if not stream:
            return await model.ainvoke(messages)
        answer = None
        async for chunk in model.astream(messages):
            answer = chunk if answer is None else answer + chunk
        return answer

    async def test_three_turns(self):
        for protocol in common.PROTOCOLS:
            for stream in (False, True):
                with self.subTest(protocol=protocol, stream=stream):
                    await self.loop(protocol, stream)

    async def loop(self, protocol, stream):
        functions = [
            {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}
            for name, schema in (("weather", WEATHER), ("clock", common.CLOCK))
        ]
        options = {
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low", "summary": "auto"},
        }
        model = self.model(f"{protocol}/m", **options).bind_tools(functions)
        messages = [HumanMessage("Weather?")]
        names = []
        for _ in range(MAX_TURNS):
            answer = await self.answer(model, messages, stream)
            messages.append(answer)
            names.append([call["name"] for call in answer.tool_calls])
            messages += [ToolMessage("sunny", tool_call_id=call["id"]) for call in answer.tool_calls]
            if not answer.tool_calls:
                break
        self.assertEqual(names, [["weather"], ["weather", "clock"], []])
        self.assertEqual(messages[-1].text, common.LOOP.text)
        asked = common.last_asked(protocol)
        self.assertEqual(asked.count(common.LOOP.signature), 0 if protocol == "chat" else 2, asked)

    async def test_structured_output_and_usage(self):
        model = self.model("sandbox/echo", common.GATEWAY)
        person = await model.with_structured_output(common.Person, method="json_schema").ainvoke("Ada")
        self.assertEqual(person.name, "Ada")
        for stream in (False, True):
            answer = await self.answer(model, common.GREETING, stream)
            usage = answer.usage_metadata
            self.assertEqual([answer.text, usage["input_tokens"], usage["output_tokens"]], [common.GREETING, 4, 4])
