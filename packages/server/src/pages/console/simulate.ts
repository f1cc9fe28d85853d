import type { Policy } from '@countersign/gateway/internal'
import {
  CodedError,
  type Did,
  didOf,
  parseDidOrTail,
  type SignedRequest,
} from '@countersign/protocol'
import { didOfAgent } from '../../base/site.ts'
import { checkAgent } from '../check-agent.ts'
import { buildRequest, type Identification, requestsOf } from './build-request.ts'
import { configurationsOf, type Target } from './configuration.ts'
import type { ConsoleForm } from './console-form.ts'
import { consoleLink } from './console-link.ts'
import { type EnteredPolicy, type PolicyFault, readEntered } from './entered-policy.ts'
import { findImpostors, type Impostors } from './find-impostors.ts'
import type { ConsoleReadDeps } from './read-model-registry.ts'
import { SAMPLE_TAILS, SAMPLES, type Sample, sampleAgent } from './sample-agents.ts'
import { type Decided, decideOn } from './simulated-gate.ts'

/** What the page shows. */
export interface ConsoleState {
  readonly form: ConsoleForm
  readonly policyFaults: readonly PolicyFault[]
  /** What is wrong with other fields: a sentence each. */
  readonly faults: Readonly<Partial<Record<keyof ConsoleForm, string>>>
  /** The path of the address that shows this state; null if it would be too long. */
  readonly link: string | null
  /** Null if the policy or the origin is not valid. */
  readonly result: ConsoleResult | null
}

export interface ConsoleResult {
  readonly callers: readonly CallerOutcome[]
  readonly impostors: Impostors
  readonly mode: Policy['mode']
  /** What to write into the site's code, or into the file of `countersign-gateway`. */
  readonly configurations: Readonly<Record<Target, string>>
}

/** `agent`: the one that was entered. `pasted`: the captured request. The others are samples. */
export type CallerName =
  | 'agent'
  | 'stranger'
  | 'header'
  | 'signed'
  | 'unverified'
  | 'suspended'
  | 'delegated'
  | 'replay'
  | 'directory'
  | 'pasted'

export interface CallerOutcome {
  readonly name: CallerName
  /** One for each request. */
  readonly decided: readonly [Decided, ...Decided[]]
}

/**
 * Decides on the requests of each kind of caller as a gateway with the policy of the form does. Nothing is fetched or recorded.
 * @throws CodedError, StorageFailure for faults of the service, never for the input
 */
export async function simulate(read: ConsoleReadDeps, asked: ConsoleForm): Promise<ConsoleState> {
  const faults: Partial<Record<keyof ConsoleForm, string>> = {}
  const attempt = async <T>(field: keyof ConsoleForm, run: () => T | Promise<T>) => {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof CodedError) || error.code !== 'VALIDATION_ERROR') throw error
      faults[field] = error.message
      return null
    }
  }
  const form = withoutToken(read, asked)
  const link = consoleLink(form)
  const entered = readEntered(read, form)
  const did = await attempt('agent', () => findDid(read, asked.agent))
  if (!('policy' in entered && 'input' in entered)) {
    if (entered.origin !== null) faults.origin = entered.origin
    return { form, policyFaults: entered.policy, faults, link, result: null }
  }
  const [audience] = entered.audiences
  const requests = await attempt('request', () => requestsOf(form, '', audience))
  const pasted = await attempt('headers', () =>
    form.headers.trim() === '' || requests === null
      ? null
      : requestsOf(form, form.headers, audience),
  )
  return {
    form,
    policyFaults: [],
    faults,
    link,
    result: {
      callers: [
        ...(requests ? await decideOnCallers(read, entered, form, requests, did) : []),
        ...(pasted ? [await decideOnPasted(read, entered, form, pasted[0])] : []),
      ],
      mode: entered.policy.mode,
      impostors: await findImpostors(read, entered),
      configurations: configurationsOf(read.site, entered),
    },
  }
}

/** A claim token is a secret, which is not sent back. */
function withoutToken({ site }: ConsoleReadDeps, form: ConsoleForm): ConsoleForm {
  return form.agent.startsWith(site.naming.tokenPrefix) ? { ...form, agent: '' } : form
}

/**
 * The DID of the agent that the form names; null if it names none.
 * @throws CodedError VALIDATION_ERROR; StorageFailure
 */
async function findDid(read: ConsoleReadDeps, text: string): Promise<Did | null> {
  if (text === '') return null
  const { site } = read
  const check = await checkAgent(read, text)
  switch (check.kind) {
    case 'found':
      return didOfAgent(site, check.view.agent.tail)
    case 'elsewhere':
      throw refusal(`This agent belongs to ${check.host}. A gateway asks one service alone.`)
    case 'token':
      throw refusal('That is a claim token. It is a secret: never share it. Enter a DID.')
    case 'unreadable':
      throw refusal('Enter the username or the DID of an agent.')
  }
  const tail = parseDidOrTail(site.naming, text)
  if (tail !== null) return didOf(site.naming, tail)
  throw refusal('No agent has this name or key. Check the spelling, or enter a DID.')
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}

async function decideOnCallers(
  read: ConsoleReadDeps,
  entered: EnteredPolicy,
  form: ConsoleForm,
  requests: readonly [SignedRequest, ...SignedRequest[]],
  did: Did | null,
): Promise<CallerOutcome[]> {
  const { site } = read
  const sampleDid = (sample: Sample) => didOf(site.naming, SAMPLE_TAILS[sample])
  const signedBy = (each: Did) => ({ kind: 'signature', did: each }) as const
  const [directory] = entered.policy.directories
  const callers: readonly (readonly [CallerName, Identification] | null)[] = [
    did && ['agent', signedBy(did)],
    ['stranger', { kind: 'none' }],
    ['header', { kind: 'header', did: did ?? sampleDid('verified') }],
    ['signed', signedBy(sampleDid('verified'))],
    ['unverified', signedBy(sampleDid('unverified'))],
    ['suspended', signedBy(sampleDid('suspended'))],
    ['delegated', { kind: 'delegate', did: sampleDid('verified') }],
    ['replay', signedBy(sampleDid('verified'))],
    directory ? ['directory', { kind: 'directory', url: directory.url }] : null,
  ]
  const decideAs = async ([name, identification]: readonly [CallerName, Identification]) => {
    const decide = async (request: SignedRequest) => {
      const built = await buildRequest(site, request, identification)
      return decideOn(read, entered, built, {
        sampleOf: (asked, rules) => {
          const sample = SAMPLES.find((each) => sampleDid(each) === asked)
          return sample && sampleAgent(sample, SAMPLE_TAILS[sample], rules, read.now())
        },
        isAway: form.away !== '',
        isReplay: name === 'replay',
      })
    }
    const [first, ...others] = requests
    const outcome: CallerOutcome = {
      name,
      decided: [await decide(first), ...(await Promise.all(others.map(decide)))],
    }
    return outcome
  }
  return Promise.all(callers.filter((each) => each !== null).map(decideAs))
}

/** A captured request is decided as it is: by the agents' own keys, and without samples. */
async function decideOnPasted(
  read: ConsoleReadDeps,
  entered: EnteredPolicy,
  form: ConsoleForm,
  request: SignedRequest,
): Promise<CallerOutcome> {
  const decided = await decideOn(
    read,
    entered,
    { request, signer: null, certificate: null },
    { sampleOf: () => undefined, isAway: form.away !== '', isReplay: false },
  )
  return { name: 'pasted', decided: [decided] }
}
