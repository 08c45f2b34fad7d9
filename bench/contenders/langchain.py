"""LangChain's agent, on LangGraph."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from contenders import KEY, MODEL, SYSTEM, lookup

DISTRIBUTIONS = ("langchain", "langchain-openai")


def connect(url):
    model = ChatOpenAI(model=MODEL, base_url=url, api_key=KEY, use_responses_api=False)
    agent = create_agent(model, tools=[lookup], system_prompt=SYSTEM)

    def ask(text, rounds):
        state = agent.invoke({"messages": [("user", text)]}, {"recursion_limit": 2 * rounds + 10})
        return state["messages"][-1].text

    return ask
