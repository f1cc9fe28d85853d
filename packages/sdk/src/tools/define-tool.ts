import { type DelegationHop, encodeBase64, type Naming } from '@countersign/protocol'
import { z } from 'zod'
import type { Agent } from '../agent.ts'
import type { DelegatedAgent } from '../delegation/delegated-agent.ts'
import type { Signer } from '../keys/signer.ts'
import type { Registry } from '../registry.ts'
import type { AgentSession } from '../sign-in.ts'
import { assertReference } from './challenge.ts'
import { describeError, Failure } from './failure.ts'
import type { IssuedChallenges } from './issued-challenges.ts'
import type { RotatedByTool, ToolAnnotations } from './tool-options.ts'
import { visible, visibleLines, visibleWithin } from './untrusted.ts'

/** An agent that was claimed, by a tool. */
interface ClaimedByTool {
  readonly did: string
  /** 32 bytes in padded standard base64. */
  readonly publicKey: string
  readonly keyCreated: boolean
}

/** What an agent has delegated to the key of the tools. */
export interface ToolDelegation {
  /** Of the agent. */
  readonly did: string
  readonly hop: DelegationHop
}

/** Whose tools they are: the agent, its service, and what its operator allows. The model sets nothing of it. */
export interface ToolHost {
  readonly service: URL
  /** The origins that requests are signed for; empty: none. For challenges, empty means any. */
  readonly audiences: readonly string[]
  /** Whether challenges without an audience are signed as well. */
  readonly allowPlainChallenges: boolean
  /** The sessions of `sign_in`, by the origin of the site. */
  readonly sessions: Map<string, AgentSession>
  /** The unanswered challenges of `verify_agent`. */
  readonly issued: IssuedChallenges
  /** How a person runs `countersign`, for texts that say what to do. */
  readonly command: string
  /** The `User-Agent` of signed requests; null: that of the platform. */
  readonly userAgent: string | null
  /** How long a call waits until the owner has decided about an approval, in ms. */
  readonly approvalWaitMs: number
  /** Milliseconds since 1970. */
  now(): number
  /** A client of the service. */
  registry(naming?: Naming): Registry
  /** The agent's own key. @throws an error with the code NO_KEY, UNUSABLE_KEY */
  signer(): Promise<Signer>
  /** The agent, which signs requests to this origin. @throws an error with the code NOT_FOUND or NO_DID without a certificate */
  agentFor(origin: string): Promise<{
    readonly agent: Pick<Agent, 'signIn' | 'requestApproval'> & Pick<DelegatedAgent, 'fetch'>
    readonly did: string
  }>
  claim(token: string, agentId: string): Promise<ClaimedByTool>
  rotateKey(did: string | undefined): Promise<RotatedByTool>
  /** The delegation that the key acts by; null: it is the key of the agent itself. */
  readonly delegation: ToolDelegation | null
  /** For the operator. */
  log(message: string): void
}

/** The result of a tool: structured for programs, in the form of its output schema, and as text. */
interface ToolResult<T = Record<string, unknown>> {
  readonly data: T
  readonly text: string
}

/** A tool of an agent, for any framework. */
export interface ToolDefinition<
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodObject = z.ZodObject,
> {
  readonly name: string
  readonly title: string
  /** For the model: when to use it, what it returns, what it never does. */
  readonly description: string
  readonly annotations: ToolAnnotations
  readonly input: I
  readonly output: O
  run(args: z.output<I>, host: ToolHost): ToolResult<z.output<O>> | Promise<ToolResult<z.output<O>>>
}

/** Defines a tool, checked against its schemas. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(
  tool: ToolDefinition<I, O>,
): ToolDefinition {
  return tool as unknown as ToolDefinition
}

/** What a model gets of a call. Texts by others are without hidden characters. */
export interface ToolAnswer {
  readonly text: string
  /** Null if the call failed: then the text is a code, a message and the next step. */
  readonly data: Record<string, unknown> | null
}

/** Calls a tool. Whatever it throws becomes an answer with a code and a message. @param args as the model sent them */
export async function callTool(
  tool: ToolDefinition,
  args: unknown,
  host: ToolHost,
): Promise<ToolAnswer> {
  try {
    const { data, text } = await tool.run(argumentsIn(tool, args), host)
    return { text: visibleLines(text), data: visibleWithin(data) }
  } catch (error) {
    return { text: errorText(error, host), data: null }
  }
}

function argumentsIn({ name, input }: ToolDefinition, args: unknown): Record<string, unknown> {
  const parsed = input.safeParse(args)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = issue?.path.join('.') || 'the arguments'
  throw new Failure('USAGE', `${name} was not called: ${place}: ${issue?.message}.`)
}

/** A schema for exactly these arguments. The error for others does not repeat them: a token could be among them. */
export function argumentsOf<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `unknown arguments; known are: ${Object.keys(shape).join(', ') || 'none'}`
        : undefined,
  })
}

/** The argument that names an agent. */
export const agentReference = () =>
  z
    .string()
    .min(1)
    .max(200)
    .describe(
      'The agent: its full DID (a short name, :agent: and 24 base58 characters), those 24 characters alone, or its public key (32 bytes in padded standard base64).',
    )

/**
 * The agent that a tool is about: the named one, else the agent itself, by its public key or, for a delegate, by its DID.
 * @throws Failure USAGE
 */
export async function agentOrSelf(agent: string | undefined, host: ToolHost): Promise<string> {
  if (agent === undefined) {
    return host.delegation?.did ?? encodeBase64((await host.signer()).publicKey)
  }
  assertReference(agent)
  return agent
}

/** @throws Failure WRONG_AUDIENCE if the operator does not let the agent sign requests for this site */
export function assertAudience(origin: string, { audiences }: ToolHost): void {
  if (audiences.includes(origin)) return
  const allowed = audiences.length === 0 ? 'no site' : `${audiences.join(', ')} only`
  throw new Failure(
    'WRONG_AUDIENCE',
    `Nothing was sent: the operator of this agent allows signed requests to ${allowed} (its audiences).`,
  )
}

/** Annotations of tools that read from the service and change nothing. */
export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
}

/** The next step after an error, if its message does not say it. */
const NEXT_STEP: Readonly<Record<string, string>> = {
  NO_KEY: 'The tool claim creates a key when it redeems a claim token from the owner.',
  KEY_ALREADY_CLAIMED:
    'Do not retry. This key cannot be claimed for the owner of the token: ask the person you work for.',
  TOKEN_EXPIRED: 'Ask the owner for a fresh token.',
  UNREACHABLE: 'Nothing was sent. Trying again later is safe.',
}

function errorText(error: unknown, host: ToolHost): string {
  const { code, message, requestId } = describeError(error)
  const request = requestId === undefined ? '' : ` (request ${visible(requestId)})`
  const hint = NEXT_STEP[code] === undefined ? '' : `\n${NEXT_STEP[code]}`
  if (code !== 'FAILURE') return `${code}: ${visible(message)}${request}${hint}`
  // The message of an unexpected error could contain anything, so only the operator gets it.
  host.log(visible(message))
  return `${code}: An unexpected error occurred on this machine. See the log of the program that runs this tool.`
}
