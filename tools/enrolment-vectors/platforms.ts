import { createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import { EC256, EC384, EC521, RSA, SHORT_RSA, STRANGER } from './keys.ts'

export const SERVICE = 'https://id.example'
/** Unix seconds. */
export const NOW = 1_800_000_000

export const SEED_HEX = '01'.repeat(32)
/** The key of the workload. */
export const WORKLOAD = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${SEED_HEX}`, 'hex'),
  format: 'der',
  type: 'pkcs8',
})
const { x = '' } = createPublicKey(WORKLOAD).export({ format: 'jwk' })
export const PUBLIC_KEY = Buffer.from(x, 'base64url').toString('base64')
/** RFC 7638, SHA-256. */
export const THUMBPRINT = createHash('sha256')
  .update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`)
  .digest('base64url')

export interface VectorRule {
  readonly id: string
  readonly issuer: string | null
  readonly trustDomain: string | null
  readonly keys: string
  readonly match: Readonly<Record<string, string | boolean | readonly string[]>>
  readonly binding: 'key' | 'token'
  readonly agentId: string | null
  readonly agentIdClaim: string | null
  readonly maxTokenSeconds: number
}

/** The public keys of the issuers. */
export const KEY_SETS = {
  kubernetes: [{ ...RSA.jwk, kid: 'k8s-1', use: 'sig', alg: 'RS256' }],
  github: [{ ...RSA.jwk, kid: 'github-1', use: 'sig', alg: 'RS256', x5t: 'AAAA', x5c: ['AAAA'] }],
  spiffe: [
    { ...EC256.jwk, kid: 'svid', use: 'jwt-svid' },
    { ...EC384.jwk, kid: 'x509', use: 'x509-svid' },
  ],
  many: [
    { ...RSA.jwk, kid: 'rsa' },
    { ...STRANGER.jwk, kid: 'twice' },
    { ...RSA.jwk, kid: 'twice' },
    { ...RSA.jwk, kid: 'enc', use: 'enc' },
    { ...RSA.jwk, kid: 'ps', alg: 'PS256' },
    { ...SHORT_RSA, kid: 'short' },
    { ...EC256.jwk, kid: 'p256' },
    { ...EC384.jwk, kid: 'p384', use: 'sig', alg: 'ES384' },
    { ...EC521.jwk, kid: 'p521' },
    { ...EC256.jwk, kid: 'svid', use: 'jwt-svid' },
    { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'okp' },
  ],
  one: [RSA.jwk],
}

const POD = 'system:serviceaccount:crawl:crawler'
const rule = (name: string, more: Partial<VectorRule>): VectorRule => ({
  // Base58 has no l.
  id: `er_${name.replaceAll('l', 'L').padEnd(22, '1')}`,
  issuer: 'https://platform.example',
  trustDomain: null,
  keys: 'one',
  match: { '/sub': 'a' },
  binding: 'token',
  agentId: name,
  agentIdClaim: null,
  maxTokenSeconds: 3600,
  ...more,
})

const GITHUB = {
  issuer: 'https://token.actions.githubusercontent.com',
  keys: 'github',
  binding: 'key',
  match: { '/repository_id': '74', '/environment': 'prod' },
} as const

/** By name. No two have the same label, so that one key can enrol by all of them. */
export const RULES = {
  kubernetes: rule('kubernetes', {
    issuer: 'https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE',
    keys: 'kubernetes',
    match: { '/sub': POD },
  }),
  namespace: rule('namespace', {
    issuer: 'https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE',
    keys: 'kubernetes',
    match: { '/kubernetes.io/namespace': 'crawl' },
  }),
  github: rule('github', GITHUB),
  githubRuns: rule('githubRuns', {
    ...GITHUB,
    match: { ...GITHUB.match, '/event_name': ['push', 'workflow_run'] },
  }),
  gitlab: rule('gitlab', {
    issuer: 'https://gitlab.com',
    match: { '/project_id': '20', '/ref_protected': 'true' },
  }),
  google: rule('google', {
    issuer: 'https://accounts.google.com',
    match: { '/google/compute_engine/project_id': 'my-project' },
    binding: 'key',
    agentId: null,
    agentIdClaim: '/google/compute_engine/instance_name',
  }),
  spiffe: rule('spiffe', {
    issuer: null,
    trustDomain: 'example.org',
    keys: 'spiffe',
    match: { '/sub': ['spiffe://example.org/crawler', 'spiffe://example.org/reader'] },
    binding: 'key',
    agentId: null,
    agentIdClaim: '/sub',
    maxTokenSeconds: 300,
  }),
  types: rule('types', {
    match: { '/text': 'é', '/flag': true, '/list': ['a', 'b'], '/deep/a~1b/~0': 'x' },
  }),
  label: rule('label', { agentId: null, agentIdClaim: '/labels/agent' }),
  keys: rule('keys', { keys: 'many' }),
}
export type RuleName = keyof typeof RULES

export const audienceOf = (name: RuleName) => `${SERVICE}/enrol/${RULES[name].id}`

const times = (seconds: number) => ({ iat: NOW, nbf: NOW, exp: NOW + seconds })

/** Payloads in the form of the vendors' documents, each of a workload that its rule admits. */
export const PAYLOADS: Readonly<Record<RuleName, Readonly<Record<string, unknown>>>> = {
  kubernetes: {
    aud: [audienceOf('kubernetes')],
    ...times(3600),
    iss: RULES.kubernetes.issuer,
    jti: '1b7f5a4e-6d0c-4f0f-9a80-0d5c3b1c9b6e',
    'kubernetes.io': {
      namespace: 'crawl',
      node: { name: 'ip-10-0-1-7', uid: '646e7c5e-32d6-4d42-9dbd-e504e6cbe6b1' },
      pod: { name: 'crawler-5d9c6-x2x7q', uid: 'ef95d1d9-9e6f-4bd4-9ac3-96b8b9b5c2b2' },
      serviceaccount: { name: 'crawler', uid: '14ee3fa4-a7e2-420f-9f9a-dbc4507c3798' },
      warnafter: NOW + 3607,
    },
    sub: POD,
  },
  namespace: {},
  github: {
    jti: '0d1c2b3a-4958-6776-8594-a3b2c1d0e1f2',
    sub: 'repo:acme@12/site@74:environment:prod',
    environment: 'prod',
    aud: `${audienceOf('github')}/${THUMBPRINT}`,
    ref: 'refs/heads/main',
    sha: '8b1a9953c4611296a827abf8c47804d7aa11bb22',
    repository: 'acme/site',
    repository_owner: 'acme',
    actor_id: '12',
    repository_visibility: 'private',
    repository_id: '74',
    repository_owner_id: '65',
    run_id: '1680000000',
    run_number: '10',
    run_attempt: '2',
    runner_environment: 'github-hosted',
    actor: 'octocat',
    workflow: 'release',
    head_ref: '',
    base_ref: '',
    event_name: 'push',
    ref_type: 'branch',
    ref_protected: 'true',
    workflow_ref: 'acme/site/.github/workflows/release.yml@refs/heads/main',
    workflow_sha: '8b1a9953c4611296a827abf8c47804d7aa11bb22',
    job_workflow_ref: 'acme/site/.github/workflows/release.yml@refs/heads/main',
    iss: GITHUB.issuer,
    ...times(300),
  },
  githubRuns: {},
  gitlab: {
    namespace_id: '72',
    namespace_path: 'my-group',
    project_id: '20',
    project_path: 'my-group/my-project',
    user_id: '1',
    user_login: 'sample-user',
    user_email: 'sample-user@example.com',
    user_identities: [{ provider: 'github', extern_uid: '2435223452345' }],
    pipeline_id: '574',
    pipeline_source: 'push',
    job_id: '302',
    ref: 'main',
    ref_type: 'branch',
    ref_path: 'refs/heads/main',
    ref_protected: 'true',
    groups_direct: ['mygroup/mysubgroup', 'myothergroup'],
    runner_id: 1,
    runner_environment: 'self-hosted',
    sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
    project_visibility: 'public',
    ci_config_ref_uri: 'gitlab.com/my-group/my-project//.gitlab-ci.yml@refs/heads/main',
    ci_config_sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
    jti: '235b3a54-b797-45c7-ae9a-f72d7bc6ef5b',
    ...times(3600),
    iss: 'https://gitlab.com',
    sub: 'project_path:my-group/my-project:ref_type:branch:ref:main',
    aud: audienceOf('gitlab'),
  },
  google: {
    aud: `${audienceOf('google')}/${THUMBPRINT}`,
    azp: '117710000000000000000',
    email: '739419398126-compute@developer.gserviceaccount.com',
    email_verified: true,
    exp: NOW + 3600,
    google: {
      compute_engine: {
        instance_creation_timestamp: 1_799_000_000,
        instance_id: '152986662232938449',
        instance_name: 'crawler-1',
        license_id: ['1000204'],
        project_id: 'my-project',
        project_number: 739_419_398_126,
        zone: 'us-central1-f',
      },
    },
    iat: NOW,
    iss: 'https://accounts.google.com',
    sub: '117710000000000000000',
  },
  // A JWT-SVID needs neither `iss` nor `iat`.
  spiffe: {
    aud: [`${audienceOf('spiffe')}/${THUMBPRINT}`],
    exp: NOW + 300,
    sub: 'spiffe://example.org/crawler',
  },
  types: {
    aud: audienceOf('types'),
    iss: RULES.types.issuer,
    ...times(600),
    text: 'é',
    flag: true,
    list: 'b',
    deep: { 'a/b': { '~': 'x' } },
  },
  label: {
    aud: audienceOf('label'),
    iss: RULES.label.issuer,
    ...times(600),
    sub: 'a',
    labels: { agent: 'Crawler 1' },
  },
  keys: { aud: audienceOf('keys'), iss: RULES.keys.issuer, ...times(600), sub: 'a' },
}
