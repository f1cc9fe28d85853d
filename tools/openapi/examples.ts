import {
  agentKeySetUrl,
  apiKeyPrefix,
  KEY_DIRECTORY_TAG,
  type Naming,
  WEB_BOT_AUTH_TAG,
} from '@countersign/protocol'
import type { Schema } from './openapi-types.ts'

/** The names of the deployment that examples are for. */
export interface ExampleNames {
  readonly naming: Naming
  readonly baseUrl: string
}

/** The tail of an agent that does not exist. */
export const TAIL = '7Xk2mPqR9sTvWyZaBcDeFgHj'

/** Example values by name of field or parameter. Key and signature (of "hello") use the key of RFC 8032, test 1. */
export function valuesOf(naming: Naming): Readonly<Record<string, unknown>> {
  const did = `${naming.didPrefix}${TAIL}`
  return {
    agent: did,
    tail: TAIL,
    [naming.didField]: did,
    [naming.idHeader.toLowerCase()]: did,
    claimToken: `${naming.tokenPrefix}00112233445566778899aabbccddeeff`,
    recoveryToken: `${naming.recoveryTokenPrefix}00112233445566778899aabbccddeeff`,
    agentId: 'main',
    newPublicKey: 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=',
    oldSignature: SIGNATURE,
    newSignature: SIGNATURE,
    publicKey: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
    challenge: 'hello',
    signature: SIGNATURE,
    sequence: 1,
    issuedAt: 1_800_000_000,
    username: 'ada',
    identityMethod: 'github',
    verifyUrl: `/agent/${did}`,
    displayName: 'Ada Lovelace',
    description: 'Books trains for Ada.',
    name: 'My phone',
    code: 'ABCD-EFGH-JKMN-PQRS',
    token: 'rYzCUlS4vMGAr6wlDxoQzKF5ibq0JqRW8nXjv3PbPyg',
    provider: 'github',
    id: 'aGVsbG8',
    channel: '1',
    reason: 'key_compromised',
    kind: 'domain',
    handleOrDomain: 'agents.example.com',
    after: '120',
    before: '120',
    sha512: '0123456789abcdef'.repeat(8),
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    kid: THUMBPRINT,
    keyid: THUMBPRINT,
    thumbprint: THUMBPRINT,
    secret: `${apiKeyPrefix(naming)}00112233445566778899aabbccddeeff`,
    scopes: ['agents:read'],
    method: 'GET',
    url: 'https://shop.example/orders',
    audience: 'https://shop.example',
  }
}

/** The JWK thumbprint of the example key (RFC 8037 appendix A.3). */
const THUMBPRINT = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'

const SIGNATURE =
  'URykl8TUJwsJixr9WuTjuVGl2iydpunAUo9XYYg2duffbkwPDhtaCkRE9CmLGILdgi+xEzy9Sav7mWyHzVuFBg=='

/** An example value for a schema, chosen by the name of the field. */
export function exampleOf(naming: Naming, name: string, schema: Schema): unknown {
  const known = valuesOf(naming)[name]
  if (known !== undefined && mayBe(schema, known)) return known
  if (schema.properties !== undefined) return exampleBody(naming, schema)
  if (schema.enum !== undefined) return schema.enum[0]
  const [type] = [schema.type ?? 'object'].flat()
  return type === 'string'
    ? 'text'
    : type === 'integer'
      ? 1
      : type === 'boolean'
        ? true
        : type === 'array'
          ? Array.from({ length: schema.minItems ?? 0 }, () =>
              exampleOf(naming, name.replace(/s$/, ''), schema.items ?? {}),
            )
          : {}
}

/** Fields of the same name differ between operations. */
function mayBe({ enum: values, type }: Schema, value: unknown): boolean {
  if (values !== undefined) return values.includes(value)
  return type !== 'integer' || typeof value === 'number'
}

/** Examples for single operations, if the name of a field alone is ambiguous. */
export function ownExamples(
  operationId: string,
  naming: Naming,
  baseUrl: string,
): Record<string, unknown> {
  if (operationId === 'verifyRequest') return { headers: signedHeaders(baseUrl) }
  if (operationId === 'proveDirectory') return directoryProof()
  if (operationId === 'issueGrant') {
    const audience = 'https://as.example'
    return { audience, tokenEndpoint: `${audience}/token` }
  }
  const challenge = `${naming.challengePrefix}${baseUrl}:4kXw9TbQe7RzMn3VhYcJ2p`
  return operationId === 'answerRuntime' ? { challenge } : {}
}

/** The header fields of a signed request, as an agent of the service sends them. */
function signedHeaders(baseUrl: string): readonly (readonly [string, string])[] {
  const components = '"@method" "@authority" "@path" "signature-agent";key="sig1"'
  const times = 'created=1800000000;expires=1800000060'
  const nonce = '4kXw9TbQe7RzMn3VhYcJ2p'
  return [
    ['Host', 'shop.example'],
    ['Signature-Agent', `sig1="${agentKeySetUrl(new URL(baseUrl).origin, TAIL)}"`],
    [
      'Signature-Input',
      `sig1=(${components});${times};keyid="${THUMBPRINT}";nonce="${nonce}";tag="${WEB_BOT_AUTH_TAG}"`,
    ],
    ['Signature', `sig1=:${SIGNATURE}:`],
  ]
}

/** The signature of an agent over its key set. */
function directoryProof() {
  const times = 'created=1800000000;expires=1802592000'
  return {
    signatureInput: `sig1=("@authority";req);${times};keyid="${THUMBPRINT}";tag="${KEY_DIRECTORY_TAG}"`,
    signature: `sig1=:${SIGNATURE}:`,
  }
}

/** An example body with the required members, or with the first optional one if none is required. */
export function exampleBody(naming: Naming, schema: Schema): Record<string, unknown> {
  const { properties = {}, required = [] } = schema
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(
    names.map((name) => [name, exampleOf(naming, name, properties[name] as Schema)]),
  )
}
