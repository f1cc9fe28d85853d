import { isSafeMethod, type Naming, type NonceStore, namingFor } from '@countersign/protocol'
import { Registry } from '@countersign/sdk'
import type { Basis } from './decision/decision.ts'
import type { GatewayOptions, RegistryClient } from './options.ts'
import { trustMistakes } from './policy/issuer-fields.ts'
import type { Policy } from './policy/policy.ts'
import { collectMistake, PolicyError } from './policy/policy-error.ts'
import {
  approvalMistakes,
  audienceMistakes,
  placesRequiringApproval,
  placesRequiringLog,
  placesRequiringProof,
  readPolicyAt,
} from './policy/read-policy.ts'

/** Validated options of a gateway. */
export interface ReadOptions {
  readonly registry: RegistryClient
  readonly naming: Naming
  readonly policy: Policy
  /** Origins. */
  readonly audiences: readonly string[]
  /** The origin of the service, as agents name it. */
  readonly issuer: string
  /** A path or an absolute URL; null if there is none. */
  readonly signInUrl: string | null
  readonly timeoutMs: number
  readonly cacheMs: number
  /** Whether decisions depend on the grade. */
  readonly withGrade: boolean
  /** Whether signatures or sessions are accepted, or decisions depend on the key or the transfer. */
  readonly withKey: boolean
  /** What decisions by an answer of the service are based on. */
  readonly bases: Readonly<Record<'service' | 'cache', Basis>>
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** The clock of signatures and certificates, in milliseconds since 1970. */
  readonly clock: () => number
}

/** One function for all gates, so that those of a process share the followers of issuers. */
const monotonic = performance.now.bind(performance)

/**
 * @param seesBodies whether the gateway can compare the body of a request
 * @throws PolicyError listing every mistake in the options
 */
export function readOptions(options: GatewayOptions, seesBodies: boolean): ReadOptions {
  const { service, naming: names, policy: input, timeoutMs = 2000, sessions } = options
  const mistakes: string[] = []
  if (!(timeoutMs > 0 && timeoutMs <= 60_000)) {
    mistakes.push('timeoutMs takes a number from 1 to 60000')
  }
  if (service === undefined) {
    const example = "gateway({ service: 'https://id.example' })"
    mistakes.push(
      `the option service is missing: the address of the service whose agents you admit, such as ${example}`,
    )
    throw new PolicyError(mistakes)
  }
  const registry = collectMistake(mistakes, () =>
    // Checks for a method instead of the class, because the application may have installed another copy of the SDK.
    typeof service === 'object' && service !== null && 'lookup' in service
      ? service
      : new Registry(service, { naming: names }),
  )
  const { shortName, idHeader } = registry?.naming ?? names ?? {}
  const naming = collectMistake(mistakes, () => namingFor(shortName, idHeader)) ?? namingFor()
  const policy = readPolicyAt(input, 'policy', { naming, mistakes })
  const audiences = (options.audiences ?? []).flatMap(
    (each, i) => readOrigin(each, `audiences[${i}]`, mistakes) ?? [],
  )
  const issuer = registry && readOrigin(options.issuer ?? registry.service, 'issuer', mistakes)
  const signInUrl = readSignInUrl(options, audiences, mistakes)
  if (registry !== null && registry.logProof === undefined) {
    for (const place of placesRequiringLog(policy)) {
      mistakes.push(`${place}.requireLogged requires a Registry with logProof`)
    }
  }
  if (sessions === undefined && audiences.length === 0) {
    for (const place of placesRequiringProof(policy)) {
      mistakes.push(
        `${place}.requireProof needs \`audiences\` or \`sessions\`: without them, nobody can prove anything`,
      )
    }
  }
  if (audiences.length === 0) mistakes.push(...audienceMistakes(policy))
  const hasAudiences = audiences.length > 0
  mistakes.push(...approvalMistakes(policy, { hasAudiences, seesBodies }))
  if (registry !== null && registry.verifyApproval === undefined) {
    for (const place of placesRequiringApproval(policy)) {
      mistakes.push(`${place}.approval requires a Registry with verifyApproval`)
    }
  }
  if (issuer !== null) mistakes.push(...trustMistakes(policy, naming, issuer))
  if (registry === null || issuer === null || mistakes.length > 0) throw new PolicyError(mistakes)
  const rules = [...policy.routes, policy]
  const dependsOnKey = rules.some(
    (each) =>
      each.minimumKeyAgeSeconds > 0 ||
      each.minimumOwnerAgeSeconds > 0 ||
      each.requireLogged !== null,
  )
  return {
    registry,
    naming,
    policy,
    audiences,
    issuer,
    signInUrl,
    timeoutMs,
    cacheMs: policy.cacheSeconds * 1000,
    withGrade: rules.some(({ minimumGrade }) => minimumGrade !== null),
    withKey: audiences.length > 0 || sessions !== undefined || dependsOnKey,
    bases: {
      service: { issuer, source: 'service', statusAgeSeconds: 0 },
      cache: { issuer, source: 'cache', statusAgeSeconds: policy.cacheSeconds },
    },
    now: options.now ?? monotonic,
    clock: options.clock ?? Date.now,
  }
}

/** Characters that would end a quoted string (RFC 9110) do not occur in the path of a parsed URL. */
function readSignInUrl(
  { signInUrl, sessions }: GatewayOptions,
  audiences: readonly string[],
  mistakes: string[],
): string | null {
  if (signInUrl === undefined) return null
  if (sessions === undefined) mistakes.push('signInUrl needs `sessions`')
  const text = String(signInUrl)
  const url = URL.canParse(text, ANY_ORIGIN) ? new URL(text, ANY_ORIGIN) : null
  const isPath = text.startsWith('/') && url?.origin === ANY_ORIGIN
  if (url !== null && !url.search && !url.hash && !url.username && !url.password) {
    if (isPath) return url.pathname
    if (audiences.includes(url.origin)) return url.href
  }
  mistakes.push('signInUrl takes a path such as /agent-sign-in, or an address at one of audiences')
  return null
}

const ANY_ORIGIN = 'https://site.invalid'

function readOrigin(input: string | URL, place: string, mistakes: string[]): string | null {
  const text = String(input)
  const url = URL.canParse(text) ? new URL(text) : null
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
  if (isOrigin) return url.origin
  mistakes.push(`${place} takes an origin such as https://shop.example`)
  return null
}

/** A store that can never tell refuses every signed request that changes state. */
export function reportMissingStore(nonces: NonceStore, policy: Policy): void {
  if (nonces.retryAfterSeconds?.(0) !== null) return
  const changesState = (methods: readonly string[] | null) => !methods?.every(isSafeMethod)
  const rules = [...policy.routes, { ...policy, methods: null }]
  // An approval is used up whatever the method.
  const needsStore = rules.some(
    ({ methods, requireProof, approval, levels }) =>
      approval !== null || ((requireProof || levels.none === 'deny') && changesState(methods)),
  )
  if (needsStore) console.error(MISSING_STORE)
}

const MISSING_STORE =
  'countersign: this gateway refuses every signed request that changes state (no-nonce-store), because other instances of it have memories of their own. Set the option `nonces` to a shared store: durableObjectNonceStore on Workers, otherwise redisNonceStore.'
