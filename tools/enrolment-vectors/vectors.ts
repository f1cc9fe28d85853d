import { sign } from 'node:crypto'
import { hashOf, token } from './make-token.ts'
import {
  KEY_SETS,
  NOW,
  PUBLIC_KEY,
  RULES,
  type RuleName,
  SEED_HEX,
  SERVICE,
  THUMBPRINT,
  WORKLOAD,
} from './platforms.ts'
import { refusedTokens } from './refused-tokens.ts'
import { validTokens } from './valid-tokens.ts'

export const vectors = {
  shortName: 'svc',
  service: SERVICE,
  now: NOW * 1000,
  seedHex: SEED_HEX,
  publicKey: PUBLIC_KEY,
  keySets: Object.fromEntries(Object.entries(KEY_SETS).map(([name, keys]) => [name, { keys }])),
  rules: RULES,
  tokens: { valid: validTokens, invalid: refusedTokens },
  pins: {
    valid: [
      pin('a repository and a branch', 'github', {
        '/repository_id': '74',
        '/ref': 'refs/heads/main',
      }),
      pin('an owner and an environment', 'github', {
        '/repository_owner_id': '65',
        '/environment': 'prod',
      }),
      pin('a repository and a workflow', 'github', {
        '/repository_id': '74',
        '/workflow_ref': 'a/b/c@d',
      }),
      pin('a repository and a called workflow', 'github', {
        '/repository_id': '74',
        '/job_workflow_ref': 'a',
      }),
      pin('a project, protected branches', 'gitlab', {
        '/project_id': '20',
        '/ref_protected': 'true',
      }),
      pin('a namespace, protected environments', 'gitlab', {
        '/namespace_id': '72',
        '/environment_protected': 'true',
      }),
      pin('an account', 'google', { '/sub': '117710000000000000000' }),
      pin('a project of Google', 'google', { '/google/compute_engine/project_id': 'my-project' }),
      pin('SPIFFE IDs', 'spiffe', { '/sub': ['spiffe://example.org/a', 'spiffe://example.org/b'] }),
      pin('an issuer that is not known', 'kubernetes', { '/sub': 'a' }),
    ],
    invalid: [
      unpinned('names of repositories change hands', 'github', {
        '/repository': 'acme/site',
        '/ref': 'refs/heads/main',
      }),
      unpinned('a subject can be made to look alike', 'github', {
        '/sub': 'repo:acme/site:environment:prod',
      }),
      unpinned('any branch could enrol', 'github', { '/repository_id': '74' }),
      unpinned('any repository could enrol', 'github', { '/environment': 'prod' }),
      unpinned('paths of projects change hands', 'gitlab', {
        '/project_path': 'a/b',
        '/ref_protected': 'true',
      }),
      unpinned('any branch could enrol', 'gitlab', { '/project_id': '20' }),
      unpinned('any branch could enrol', 'gitlab', {
        '/project_id': '20',
        '/ref_protected': 'false',
      }),
      unpinned('any branch could enrol', 'gitlab', { '/project_id': '20', '/ref_protected': true }),
      unpinned('any branch could enrol', 'gitlab', {
        '/project_id': '20',
        '/ref_protected': ['true', 'false'],
      }),
      unpinned('addresses change hands', 'google', { '/email': 'a@example.org' }),
      unpinned('another trust domain', 'spiffe', { '/sub': 'spiffe://other.example/a' }),
      unpinned('a trust domain that begins alike', 'spiffe', {
        '/sub': 'spiffe://example.org.evil/a',
      }),
      unpinned('one of two is of another domain', 'spiffe', {
        '/sub': ['spiffe://example.org/a', 'spiffe://other.example/a'],
      }),
      unpinned('no path', 'spiffe', { '/sub': 'spiffe://example.org/' }),
      unpinned('no subject', 'spiffe', { '/environment': 'prod' }),
      unpinned('a claim that every token is checked for', 'kubernetes', { '/aud': 'a' }),
      unpinned('no pointer', 'kubernetes', { sub: 'a' }),
      unpinned('an escape that there is not', 'kubernetes', { '/a~2': 'a' }),
      unpinned('nothing', 'kubernetes', {}),
      unpinned('an empty list', 'kubernetes', { '/sub': [] }),
      unpinned('a number', 'kubernetes', { '/run_number': 10 }),
    ],
  },
  messages: {
    enrol: message('svc-enrol-v1', 'er_kubernetes111111111111', hashOf(token('kubernetes'))),
    end: message('svc-enrol-end-v1', 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'),
  },
}

function pin(name: string, rule: RuleName, match: object) {
  const { issuer, trustDomain } = RULES[rule]
  return { name, issuer, trustDomain, match }
}

function unpinned(why: string, rule: RuleName, match: object) {
  return { ...pin(`${rule}: ${JSON.stringify(match)}`, rule, match), why }
}

/** What a workload signs, line by line from docs/enrolment.md. */
function message(name: string, ...subject: string[]) {
  const issuedAt = NOW
  const text = [name, SERVICE, ...subject, THUMBPRINT, issuedAt].join('\n')
  const bytes = Buffer.concat([Uint8Array.of(0xff), Buffer.from(text)])
  const signature = sign(null, bytes, WORKLOAD).toString('base64')
  return { subject, issuedAt, messageHex: bytes.toString('hex'), signature }
}
