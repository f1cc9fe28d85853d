import { type Naming, namingFor } from '@countersign/protocol'
import { Registry } from '@countersign/sdk'
import type { GatewayOptions, RegistryClient } from './options.ts'
import type { Policy } from './policy/policy.ts'
import { collectMistake, PolicyError } from './policy/policy-error.ts'
import { directoryMistakes, placesRequiringProof, readPolicyAt } from './policy/read-policy.ts'

/** Validated options of a gateway. */
export interface ReadOptions {
  readonly registry: RegistryClient
  readonly naming: Naming
  readonly policy: Policy
  /** Origins. */
  readonly audiences: readonly string[]
  /** The origin of the service, as agents name it. */
  readonly issuer: string
}

/** @throws PolicyError listing every mistake in the options */
export function readOptions(options: GatewayOptions): ReadOptions {
  const { service, naming: names, policy: input, timeoutMs = 2000, sessions } = options
  const mistakes: string[] = []
  if (!(timeoutMs > 0 && timeoutMs <= 60_000)) {
    mistakes.push('timeoutMs takes a number from 1 to 60000')
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
  if (sessions === undefined && audiences.length === 0) {
    for (const place of placesRequiringProof(policy)) {
      mistakes.push(
        `${place}.requireProof needs \`audiences\` or \`sessions\`: without them, nobody can prove anything`,
      )
    }
  }
  if (audiences.length === 0) mistakes.push(...directoryMistakes(policy))
  if (registry === null || issuer === null || mistakes.length > 0) throw new PolicyError(mistakes)
  return { registry, naming, policy, audiences, issuer }
}

function readOrigin(input: string | URL, place: string, mistakes: string[]): string | null {
  const text = String(input)
  const url = URL.canParse(text) ? new URL(text) : null
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
  if (isOrigin) return url.origin
  mistakes.push(`${place} takes an origin such as https://shop.example`)
  return null
}
