import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { RunContext } from '@openai/agents'
import { generateText, stepCountIs } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { Agent } from '../../src/agent.ts'
import { toTools as toAiTools } from '../../src/ai-sdk.ts'
import { toTools as toLangChainTools } from '../../src/langchain.ts'
import { toTools as toOpenAiTools } from '../../src/openai-agents.ts'
import { ALL_TOOLS } from '../../src/tools/all-tools.ts'
import type { ToolOptions } from '../../src/tools/tool-options.ts'
import { type CertifiedAgent, certifiedAgent, registryOf } from '../support/certified.ts'
import { startVerifyingSite } from '../support/signed-site.ts'

const cleanup = fileCleanup()
let service: TestService
let certified: CertifiedAgent

before(async () => {
  service = await startTestService(cleanup)
  certified = await certifiedAgent(service)
})

const agentFor = (...audiences: string[]) => {
  const { key, did } = certified
  return new Agent({ registry: registryOf(service), signer: key, did, audiences })
}

interface Described {
  readonly name: string
  readonly description: string | undefined
  readonly annotations: unknown
  call(args: object): Promise<string>
}

/** The tools of each framework, called as the framework calls them. */
const FRAMEWORKS: Readonly<Record<string, (agent: Agent, options?: ToolOptions) => Described[]>> = {
  'AI SDK': (agent, options) =>
    Object.entries(toAiTools(agent, options)).map(([name, tool]) => ({
      name,
      description: tool.description as string,
      annotations: tool.metadata?.annotations,
      call: async (args) =>
        String(await tool.execute?.(args, { toolCallId: '1', messages: [], context: {} })),
    })),
  'OpenAI Agents SDK': (agent, options) =>
    toOpenAiTools(agent, options).map((tool) => ({
      name: tool.name,
      description: tool.description,
      annotations: tool.annotations,
      call: async (args) => String(await tool.invoke(new RunContext(), JSON.stringify(args))),
    })),
  LangChain: (agent, options) =>
    toLangChainTools(agent, options).map((tool) => ({
      name: tool.name,
      description: tool.description,
      annotations: tool.metadata?.annotations,
      call: async (args) => {
        const call = { type: 'tool_call', id: '1', name: tool.name, args } as const
        return String((await tool.invoke(call)).content)
      },
    })),
}

for (const [name, toTools] of Object.entries(FRAMEWORKS)) {
  test(`${name}: the tools of countersign mcp, with their annotations`, () => {
    const rotateKey = async () => assert.fail('not called')
    const made = toTools(agentFor(), { rotateKey })
    assert.deepEqual(
      made.map(({ call: _, ...each }) => each),
      ALL_TOOLS.map((each) => {
        const { name: tool, description, annotations } = each
        return { name: tool, description, annotations: { ...annotations } }
      }),
    )
    const names = (options?: ToolOptions) => toTools(agentFor(), options).map((each) => each.name)
    assert.ok(!names().includes('rotate_key'))
    assert.deepEqual(names({ only: ['fetch'] }), ['fetch'])
    assert.throws(() => names({ only: ['fetch', 'buy'] }), {
      code: 'INVALID_ARGUMENT',
      message: /no tool buy\. .*fetch/,
    })
  })

  test(`${name}: a tool signs, and refuses what countersign mcp refuses`, async (t) => {
    const { site, received } = await startVerifyingSite(t, registryOf(service))
    const tools = new Map(toTools(agentFor(site)).map((each) => [each.name, each]))
    const call = async (tool: string, args: object) => (await tools.get(tool)?.call(args)) ?? ''

    const fetched = await call('fetch', { url: `${site}/orders`, method: 'POST', body: 'lamp' })
    assert.match(fetched, new RegExp(`^${site} answered 200\\.`))
    assert.match(fetched, /Sent by the site and not verified/)
    assert.equal(received.length, 1)
    assert.match(await call('whoami', {}), new RegExp(`^You are ${certified.did} \\(active\\)`))
    assert.match(await call('lookup_agent', { agent: certified.did }), /is active/)

    const stolen = await call('fetch', { url: 'https://evil.example/' })
    assert.match(stolen, /^WRONG_AUDIENCE: Nothing was sent/)
    const challenge = `svc-challenge-v1:https://bank.example:${'n'.repeat(32)}`
    const relayed = await call('sign_challenge', { audience: site, challenge })
    assert.match(relayed, /^WRONG_AUDIENCE: Nothing was signed/)
    const claim = `svc-verify-${'0'.repeat(32)}|main`
    const signed = await call('sign_challenge', { audience: site, challenge: claim })
    assert.match(signed, /^LOOKS_LIKE_A_CLAIM: /)
    const unknown = await call('lookup_agent', { agent: `svc:agent:${'z'.repeat(24)}` })
    assert.match(unknown, /^NOT_FOUND: /)
    const other = await service.operator.addVerifiedOwner()
    const token = await service.operator.issueToken(other)
    assert.match(await call('claim', { token }), /^KEY_ALREADY_CLAIMED: Another owner/)
    assert.equal(received.length, 1)
  })
}

test('AI SDK: a model calls a tool by itself', async (t) => {
  const { site, received } = await startVerifyingSite(t, registryOf(service))
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  let turn = 0
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      turn += 1
      const input = JSON.stringify({ url: `${site}/orders` })
      return turn === 1
        ? {
            content: [{ type: 'tool-call', toolCallId: '1', toolName: 'fetch', input }],
            finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: 'text', text: 'done' }],
            finishReason: { unified: 'stop', raw: 'stop' },
            usage,
            warnings: [],
          }
    },
  })
  const { text, steps } = await generateText({
    model,
    tools: toAiTools(agentFor(site)),
    stopWhen: stepCountIs(3),
    prompt: 'Order.',
  })
  assert.equal(text, 'done')
  assert.match(String(steps[0]?.toolResults[0]?.output), /answered 200\./)
  assert.equal(received.length, 1)
})
