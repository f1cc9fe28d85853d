import { signRequest } from '@worldcoin/idkit-core/signing'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Env } from '../../base/config.ts'
import { baseAddress, DEFAULT_RUNTIME, fetchJson, type ProviderRuntime } from './http-json.ts'
import {
  type BeginContext,
  type IdentityProvider,
  type ProviderCheck,
  ProviderFailure,
  ProviderRefusal,
} from './provider.ts'
import { resolveSecret, SecretError, secretReference } from './secret-reference.ts'
import {
  assertLoopback,
  idField,
  labelField,
  validForDaysField,
  validityMs,
} from './settings-fields.ts'
import {
  assertMatchesRequest,
  hexNumber,
  nullifierOf,
  type Proof,
  type ProofRequest,
  readProof,
} from './world-id-proof.ts'

/** `{"type": "world-id"}` in the operator's file: a relying party registered for World ID 4 in the Developer Portal. */
export const worldIdSettings = () =>
  Type.Object(
    {
      id: idField(),
      type: Type.Literal('world-id'),
      label: Type.Optional(labelField()),
      validForDays: Type.Optional(validForDaysField()),
      appId: Type.String({
        pattern: '^app_[A-Za-z0-9_]{1,64}$',
        description: 'the app id of the Developer Portal, app_…',
      }),
      rpId: Type.String({
        pattern: '^rp_[0-9a-f]{16}$',
        description: 'the id of the relying party, rp_ and 16 hexadecimal digits',
      }),
      action: Type.String({
        pattern: '^[A-Za-z0-9._-]{1,64}$',
        description:
          '1 to 64 letters, digits, dots, hyphens and underscores; with another action everybody is new',
      }),
      signingKey: secretReference(),
      environment: Type.Optional(
        Type.Enum(['production', 'staging'], {
          type: 'string',
          description: 'production, or staging, which is for development on loopback only',
        }),
      ),
      address: Type.Optional(baseAddress('https://developer.world.org')),
    },
    { additionalProperties: false },
  )

type WorldIdSettings = Static<ReturnType<typeof worldIdSettings>>

interface WorldId {
  readonly settings: WorldIdSettings
  readonly address: string
  readonly environment: 'production' | 'staging'
  readonly signingKeyHex: string
  readonly runtime: ProviderRuntime
}

type State = Pick<ProofRequest, 'nonce' | 'createdAt' | 'expiresAt'>

/**
 * World ID 4: proof of a unique human without their identity. The browser gets a signed request, World App creates a
 * proof, and World's Developer Portal verifies it. The portal does not know our request, so the proof's public inputs
 * are compared with it first.
 * @throws SecretError if the signing key cannot be read or is malformed
 */
export function worldIdProvider(
  settings: WorldIdSettings,
  env: Env,
  runtime: ProviderRuntime = DEFAULT_RUNTIME,
): IdentityProvider {
  const world: WorldId = {
    settings,
    address: settings.address ?? 'https://developer.world.org',
    environment: settings.environment ?? 'production',
    signingKeyHex: readSigningKey(settings, env),
    runtime,
  }
  return {
    id: settings.id,
    label: settings.label ?? 'World ID',
    kind: 'personhood',
    for: 'person',
    assurance: 'substantial',
    unique: true,
    verifiesName: false,
    proves: 'That you are a human, one who has not verified another owner here; not who you are.',
    // World App proves the same action again only after a year, so a year's validity would leave a gap.
    validForMs: validityMs(settings.validForDays ?? null),
    // For the same reason, owners could not sign in a second time.
    signIn: false,
    selfService: true,
    // IDKit is WebAssembly and connects to World's bridge, end-to-end encrypted.
    pagePolicy: {
      'script-src': ["'wasm-unsafe-eval'"],
      'connect-src': ['https://bridge.worldcoin.org'],
    },
    async begin(context) {
      assertEnvironmentAllowed(world, context)
      return createRequest(world, context)
    },
    async complete(context, { body }, state) {
      assertEnvironmentAllowed(world, context)
      const proof = readProof(body)
      assertMatchesRequest(
        proof,
        proofRequest(world, context, state as State),
        runtime.now() / 1000,
      )
      await verifyAtPortal(world, body, proof)
      return {
        subject: nullifierOf(proof).toString(),
        issuer: `${settings.rpId}/${settings.action}`,
        assurance: 'substantial',
        verifiedAt: new Date(runtime.now()),
      }
    },
    check: async () => [checkSigning(world), await checkRegistration(world)],
  }
}

function readSigningKey({ signingKey }: WorldIdSettings, env: Env): string {
  const key = resolveSecret(signingKey, env)
  if (/^(0x)?[0-9a-fA-F]{64}$/.test(key)) return key
  throw new SecretError('the signing key of World ID is not 64 hexadecimal characters')
}

function assertEnvironmentAllowed({ environment }: WorldId, { callbackUrl }: BeginContext): void {
  if (environment === 'staging') assertLoopback(callbackUrl, 'The staging environment of World')
}

/** `client` has the parameters of `IDKit.request()`, and the signal. */
function createRequest(world: WorldId, { ownerId }: BeginContext) {
  const { appId, rpId, action } = world.settings
  const signed = signRequest({ signingKeyHex: world.signingKeyHex, action })
  const { nonce, createdAt, expiresAt } = signed
  const state: State = { nonce, createdAt, expiresAt }
  const client = {
    app_id: appId,
    action,
    rp_context: {
      rp_id: rpId,
      nonce,
      created_at: createdAt,
      expires_at: expiresAt,
      signature: signed.sig,
    },
    environment: world.environment,
    signal: ownerId,
  }
  return { client, state }
}

function proofRequest(
  { settings, environment }: WorldId,
  { ownerId }: BeginContext,
  state: State,
): ProofRequest {
  return { ...state, action: settings.action, environment, signal: ownerId }
}

const successResponse = Type.Object({
  success: Type.Literal(true),
  action: Type.String(),
  nullifier: hexNumber(),
  environment: Type.String(),
})
const errorResponse = Type.Object({ code: Type.String() })

/** Error codes of the portal that only the operator can fix. */
const CONFIGURATION_ERRORS = [
  'app_not_migrated',
  'rp_not_active',
  'not_found',
  'configuration_error',
]

/** Verifies the proof by `POST /api/v4/verify/{rp_id}` of World's Developer Portal, with IDKit's result unchanged. */
async function verifyAtPortal(
  { settings, address, runtime }: WorldId,
  result: unknown,
  proof: Proof,
): Promise<void> {
  const { status, body } = await fetchJson(`${address}/api/v4/verify/${settings.rpId}`, {
    method: 'POST',
    json: result,
    timeLimitMs: runtime.timeLimitMs,
  })
  if (status === 200 && Value.Check(successResponse, body)) {
    const same =
      BigInt(body.nullifier) === nullifierOf(proof) &&
      body.action === proof.action &&
      body.environment === proof.environment
    if (same) return
    throw new ProviderFailure('World answers for another proof than the one that was sent.')
  }
  const code = Value.Check(errorResponse, body) ? body.code : null
  if (code !== null && CONFIGURATION_ERRORS.includes(code))
    throw new ProviderFailure(`World refuses this service: ${code}.`)
  if (code !== null && (status === 400 || status === 403))
    throw new ProviderRefusal('World does not accept that proof. Begin again.')
  throw new ProviderFailure(`World cannot check the proof now (status ${status}).`)
}

function checkSigning(world: WorldId): ProviderCheck {
  const name = 'signing key'
  signRequest({ signingKeyHex: world.signingKeyHex, action: world.settings.action })
  return {
    name,
    ok: true,
    detail: 'signs requests; whether it is the registered one, only World App says',
  }
}

/** Uses `GET /api/v4/rp-status/{rp_id}`, as the Developer Portal's own pages do. */
async function checkRegistration(world: WorldId): Promise<ProviderCheck> {
  const name = `relying party, ${world.environment}`
  const member = `${world.environment}_status`
  try {
    const { status, body } = await fetchJson(
      `${world.address}/api/v4/rp-status/${world.settings.rpId}`,
      { method: 'GET', timeLimitMs: world.runtime.timeLimitMs },
    )
    if (status === 404) return { name, ok: false, detail: 'World does not know this rp_id' }
    const registered = Value.Check(Type.Object({ [member]: Type.Literal('registered') }), body)
    if (registered) return { name, ok: true, detail: 'registered' }
    return { name, ok: false, detail: `not registered, or not yet (status ${status})` }
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message }
  }
}
