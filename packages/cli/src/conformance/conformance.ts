import {
  ERROR_STATUS,
  type Naming,
  namingFor,
  namingOfDid,
  namingOfToken,
} from '@countersign/protocol'
import { Agent, CountersignError, discoverNaming, Registry } from '@countersign/sdk'
import { Failure } from '@countersign/sdk/tool-support'
import type { Answer } from './answer.ts'
import { CARD_CHECKS } from './card-checks.ts'
import { type Check, type CheckResult, type Kit, runCheck, segment } from './check.ts'
import { CLAIM_AGAIN_CHECK, claimChecks, REFUSED_CLAIM_CHECKS } from './claim-checks.ts'
import { Client } from './client.ts'
import { DID_DOCUMENT_CHECKS } from './did-document-checks.ts'
import { codeOf, expectShape, Mismatch, object, Skip, someText, textLike } from './expect.ts'
import { describesPath, IDENTIFY_CHECKS } from './identify-checks.ts'
import { LOOKUP_CHECKS, lookup } from './lookup-checks.ts'
import { VECTOR_CHECKS } from './vector-checks.ts'
import { VERIFY_CHECKS } from './verify-checks.ts'

const RENOUNCE_PATH = '/api/v1/agent/{agent}/renounce'

/** What `countersign conformance` is given. */
export interface ConformanceOptions {
  readonly service: URL
  /** DIDs that are looked up. */
  readonly agents: readonly string[]
  /** Unused claim tokens of one owner; the first ones are redeemed. */
  readonly claimTokens: readonly string[]
  readonly expiredToken: string | null
  /** Whether the cases of vectors/ are sent too. */
  readonly vectors: boolean
  readonly fetch: typeof globalThis.fetch
  /** Called with every DID that the checks have claimed. */
  readonly onClaimed: (did: string) => void
}

/** The result of all checks. */
export interface ConformanceReport {
  readonly url: string
  readonly shortName: string
  readonly idHeader: string
  /** True if no check failed. */
  readonly conforms: boolean
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly checks: readonly CheckResult[]
  /** The DIDs that the checks claimed and could not renounce. Their keys are gone: the owner revokes them. */
  readonly left: readonly string[]
}

/**
 * Checks a deployment against the contract.
 * @throws CountersignError if it cannot be reached
 * @throws Failure USAGE if its short name is unknown
 */
export async function checkConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { service, fetch } = options
  const client = new Client(service, fetch)
  const kit: Kit = {
    client,
    naming: await namingOfDeployment(options),
    openapi: (await client.page('/openapi.json', 'application/json')).body,
    agents: options.agents.map((did) => ({ did, signer: null })),
    claimTokens: [...options.claimTokens],
    expiredToken: options.expiredToken,
  }
  const results: CheckResult[] = []
  const run = async (checks: readonly Check[]) => {
    for (const check of checks) {
      const known = kit.agents.length
      results.push(await runCheck(check, kit))
      for (const { did } of kit.agents.slice(known)) options.onClaimed(did)
    }
  }
  const left: string[] = []
  try {
    await run(claimChecks())
    await run([...LOOKUP_CHECKS, ...CARD_CHECKS, ...DID_DOCUMENT_CHECKS])
    await run([...VERIFY_CHECKS, ...REFUSED_CLAIM_CHECKS, ...IDENTIFY_CHECKS])
    if (options.vectors) await run(VECTOR_CHECKS)
  } finally {
    await run([renounceCheck(options), CLAIM_AGAIN_CHECK])
    left.push(...(await renounceAll(kit, options)))
  }
  await run(ERROR_CHECKS)
  const count = (outcome: CheckResult['outcome']) =>
    results.filter((each) => each.outcome === outcome).length
  const { shortName, idHeader } = kit.naming
  return {
    url: service.origin,
    shortName,
    idHeader,
    conforms: count('fail') === 0,
    passed: count('pass'),
    failed: count('fail'),
    skipped: count('skip'),
    checks: results.toSorted((a, b) => compareSections(a.section, b.section)),
    left,
  }
}

/** Renounces what was claimed, and checks that the deployment shows it. Renouncing is not in the contract. */
function renounceCheck(options: ConformanceOptions): Check {
  return {
    section: '3.1',
    title: 'A renounced certificate is shown as suspended or revoked',
    async run(kit, examine) {
      const own = kit.agents.filter(({ signer }) => signer !== null)
      if (own.length === 0) throw new Skip('needs --claim-token <token>')
      if (!describesPath(kit, RENOUNCE_PATH)) {
        throw new Skip(`the deployment does not describe ${RENOUNCE_PATH}`)
      }
      await renounceAll(kit, options)
      for (const { did } of own) {
        await examine(did, async () => {
          const { certificate } = await lookup(kit, did)
          const where = `GET /api/v1/agent/${segment(did)}: certificate.status`
          if (certificate.status === 'active') {
            throw new Mismatch(where, 'suspended or revoked', certificate.status)
          }
        })
      }
    },
  }
}

/** Sending it again does no harm. @returns the DIDs that are still active */
async function renounceAll(kit: Kit, { service, fetch }: ConformanceOptions): Promise<string[]> {
  const registry = new Registry(service, { naming: kit.naming, fetch })
  const left: string[] = []
  for (const { did, signer } of kit.agents) {
    if (signer === null) continue
    try {
      const { status } = await new Agent({ registry, signer, did }).renounce()
      if (status === 'active') left.push(did)
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error
      left.push(did)
    }
  }
  return left
}

/** The names in `/openapi.json`, else those that the given agents and tokens have. */
async function namingOfDeployment(options: ConformanceOptions): Promise<Naming> {
  const { service, fetch, agents, claimTokens } = options
  try {
    const { shortName, idHeader } = await discoverNaming(service, { fetch })
    return namingFor(shortName, idHeader)
  } catch (error) {
    const code = error instanceof CountersignError ? error.code : ''
    if (code === 'NETWORK' || code === 'TIMEOUT') throw error
  }
  const [did = ''] = agents
  const [token = ''] = claimTokens
  const naming = namingOfDid(did) ?? namingOfToken(token)
  if (naming !== null) return naming
  throw new Failure(
    'USAGE',
    `${service.origin} does not name its short name in /openapi.json. Pass --agent with the DID of one of its agents.`,
  )
}

/** Such as 2.4 before 4.1; what has no section comes last. */
function compareSections(a: string, b: string): number {
  return keyOf(a) - keyOf(b)
}

function keyOf(section: string): number {
  const [major, minor = '0'] = section.split(/[.,]/)
  return Number.isNaN(Number(major))
    ? Number.POSITIVE_INFINITY
    : Number(major) * 100 + Number(minor)
}

/** The codes of the contract, section 7. The status of further codes is a choice of the deployment. */
const CONTRACT_CODES = [
  'VALIDATION_ERROR',
  'INVALID_SIGNATURE',
  'NOT_FOUND',
  'KEY_ALREADY_CLAIMED',
  'TOKEN_EXPIRED',
  'INTERNAL_ERROR',
  'RATE_LIMITED',
] as const

const ENVELOPE = object({
  error: object({
    code: textLike(/^[A-Z][A-Z0-9_]*$/, 'a code'),
    message: someText,
    requestId: textLike(/^req_./, 'req_ and an identifier'),
  }),
})

/** Checks of all errors that the other checks have met. They run last. */
const ERROR_CHECKS: readonly Check[] = [
  ofEachError('Every error has the envelope, with a requestId of its form', (answer) => {
    if (answer.body === undefined) throw new Mismatch(answer.request, 'a JSON body', 'another body')
    expectShape(`${answer.request} (${answer.status})`, answer.body, ENVELOPE)
  }),
  ofEachError('Every code comes with its HTTP status', (answer) => {
    const known = CONTRACT_CODES.find((each) => each === codeOf(answer))
    if (known !== undefined && ERROR_STATUS[known] !== answer.status) {
      const { request, status } = answer
      throw new Mismatch(request, `${ERROR_STATUS[known]} ${known}`, `${status} ${known}`)
    }
  }),
  ofEachError('No request caused an unexpected error, and 429 is RATE_LIMITED', (answer) => {
    const { request, status } = answer
    const code = codeOf(answer)
    if (status === 500) throw new Mismatch(request, 'no unexpected error', `500 ${code}`)
    if (status === 429 && code !== 'RATE_LIMITED') {
      throw new Mismatch(request, '429 RATE_LIMITED', `429 ${code}`)
    }
  }),
]

function ofEachError(title: string, examined: (answer: Answer) => void): Check {
  return {
    section: '7',
    title,
    async run({ client }, examine) {
      for (const answer of client.errors) {
        await examine(answer.request, async () => examined(answer))
      }
    },
  }
}
