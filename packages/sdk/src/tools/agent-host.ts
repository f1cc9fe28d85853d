import { type Agent, signerOf } from '../agent.ts'
import { CountersignError } from '../errors.ts'
import { ALL_TOOLS } from './all-tools.ts'
import { callTool, type ToolDefinition, type ToolHost } from './define-tool.ts'
import { IssuedChallenges } from './issued-challenges.ts'
import { APPROVAL_WAIT_MS, type ToolOptions } from './tool-options.ts'

/** A tool that is bound to an agent. */
export interface BoundTool extends Omit<ToolDefinition, 'run'> {
  /** Never throws: an error is a text with a code, a message and the next step. */
  call(args: unknown): Promise<string>
}

/**
 * The tools of an agent, for any framework.
 * @throws CountersignError INVALID_ARGUMENT if `only` names what is no tool
 */
export function boundTools(agent: Agent, options: ToolOptions): readonly BoundTool[] {
  const { only, rotateKey } = options
  const names = ALL_TOOLS.map(({ name }) => name)
  const unknown = only?.find((each) => !names.includes(each))
  if (unknown !== undefined) {
    const message = `There is no tool ${unknown}. The tools are ${names.join(', ')}.`
    throw new CountersignError('INVALID_ARGUMENT', message)
  }
  const host = hostOf(agent, options)
  return ALL_TOOLS.filter(({ name }) => only?.includes(name) ?? true)
    .filter(({ name }) => name !== 'rotate_key' || rotateKey !== undefined)
    .map((tool) => {
      const { run: _, ...described } = tool
      return { ...described, call: async (args) => (await callTool(tool, args, host)).text }
    })
}

function hostOf(
  agent: Agent,
  {
    rotateKey,
    allowPlainChallenges = false,
    approvalWaitMs = APPROVAL_WAIT_MS,
    log = console.error,
  }: ToolOptions,
): ToolHost {
  const { registry, audiences } = agent
  return {
    service: new URL(registry.service),
    audiences,
    allowPlainChallenges,
    sessions: new Map(),
    issued: new IssuedChallenges(Date.now),
    command: 'countersign',
    userAgent: null,
    delegation: null,
    approvalWaitMs,
    now: Date.now,
    registry: () => registry,
    signer: async () => signerOf(agent),
    agentFor: async () => ({ agent, did: agent.did ?? (await agent.whoami()).did }),
    async claim(token, agentId) {
      const { did } = await agent.claim(token, agentId)
      return { did, publicKey: agent.publicKey, keyCreated: false }
    },
    rotateKey: async (did) => {
      if (rotateKey === undefined) throw new Error('There is no tool rotate_key.')
      return rotateKey(did)
    },
    log,
  }
}
