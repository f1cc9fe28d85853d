import type { EnrolmentRule } from '@countersign/protocol'
import { EMPTY_DRAFT, type RuleDraft } from './draft.ts'

export type PlatformId = 'kubernetes' | 'github' | 'gitlab' | 'gcp' | 'spiffe'

/** How a claim of a platform is filled in. */
interface ClaimHint {
  readonly hint: string
  readonly placeholder: string
}

/** What the form says for a platform, and how it begins. */
export interface Preset {
  readonly name: string
  readonly text: string
  /** What is left to fill in. */
  readonly fillIn: readonly string[]
  readonly issuer: ClaimHint
  readonly keysHint: string
  readonly bindingWhy: string
  /** By JSON Pointer. */
  readonly claims: Readonly<Record<string, ClaimHint>>
  readonly draft: RuleDraft
}

const text = (pointer: string, values: string, row = 0) =>
  ({ row, pointer, type: 'text', values }) as const

const AT_RUN_TIME =
  'The workload asks for a token for its own key. A stolen token is useless with another key.'
const BEFOREHAND =
  'The platform fixes the audience beforehand, so a token cannot name the key. The first key that uses a token keeps it.'

export const PRESETS: Readonly<Record<PlatformId, Preset>> = {
  kubernetes: {
    name: 'Kubernetes',
    text: 'Pods, by the token of their service account.',
    fillIn: ['the issuer of your cluster', 'the service account of the pods'],
    issuer: {
      hint: 'Run kubectl get --raw /.well-known/openid-configuration and copy “issuer”.',
      placeholder: 'https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE',
    },
    keysHint:
      'If the internet cannot reach the issuer, paste the output of kubectl get --raw /openid/v1/jwks. Paste it again after each rotation of the keys.',
    bindingWhy: BEFOREHAND,
    claims: {
      '/sub': {
        hint: 'The service account: system:serviceaccount:NAMESPACE:NAME.',
        placeholder: 'system:serviceaccount:crawl:crawler',
      },
    },
    draft: EMPTY_DRAFT,
  },
  github: {
    name: 'GitHub Actions',
    text: 'Jobs of a workflow, one DID for each job.',
    fillIn: ['the number of the repository', 'the branch, if it is not main'],
    issuer: {
      hint: 'Another one only for GitHub Enterprise Server: https://HOST/_services/token.',
      placeholder: 'https://token.actions.githubusercontent.com',
    },
    keysHint: 'GitHub publishes its keys, so discovery finds them.',
    bindingWhy: AT_RUN_TIME,
    claims: {
      '/repository_id': {
        hint: 'The number of the repository. Run gh api repos/OWNER/NAME --jq .id. Names change hands, numbers do not.',
        placeholder: '74',
      },
      '/ref': {
        hint: 'The branch or tag. You can match /environment, /workflow_ref or /job_workflow_ref instead.',
        placeholder: 'refs/heads/main',
      },
    },
    draft: {
      ...EMPTY_DRAFT,
      issuer: 'https://token.actions.githubusercontent.com',
      match: [text('/repository_id', ''), text('/ref', 'refs/heads/main', 1)],
      binding: 'key',
    },
  },
  gitlab: {
    name: 'GitLab',
    text: 'Jobs of a pipeline, on gitlab.com or your own GitLab.',
    fillIn: ['the number of the project', 'the issuer, if you run your own GitLab'],
    issuer: {
      hint: 'For your own GitLab, its address.',
      placeholder: 'https://gitlab.com',
    },
    keysHint:
      'If the internet cannot reach your GitLab, paste the keys from /oauth/discovery/keys.',
    bindingWhy: BEFOREHAND,
    claims: {
      '/project_id': {
        hint: 'The number of the project, under Settings › General. A pipeline of a fork has the number of the fork.',
        placeholder: '20',
      },
      '/ref_protected': {
        hint: 'Leave “true”, so that only protected branches and tags enrol.',
        placeholder: 'true',
      },
    },
    draft: {
      ...EMPTY_DRAFT,
      issuer: 'https://gitlab.com',
      match: [text('/project_id', ''), text('/ref_protected', 'true', 1)],
    },
  },
  gcp: {
    name: 'Google Cloud',
    text: 'Virtual machines and Cloud Run, by their service account.',
    fillIn: ['the number of the service account'],
    issuer: {
      hint: 'The same for all projects.',
      placeholder: 'https://accounts.google.com',
    },
    keysHint: 'Google publishes its keys, so discovery finds them.',
    bindingWhy: AT_RUN_TIME,
    claims: {
      '/sub': {
        hint: 'The number of the service account. Run gcloud iam service-accounts describe EMAIL --format="value(uniqueId)". Addresses change hands.',
        placeholder: '110169484474386276334',
      },
    },
    draft: { ...EMPTY_DRAFT, issuer: 'https://accounts.google.com', binding: 'key' },
  },
  spiffe: {
    name: 'SPIFFE',
    text: 'Workloads of a trust domain, by JWT-SVIDs of SPIRE.',
    fillIn: ['the trust domain', 'where its keys are', 'the SPIFFE ID of the workloads'],
    issuer: {
      hint: 'Leave it empty, unless your server sets one (jwt_issuer).',
      placeholder: 'https://spire.example.org',
    },
    keysHint:
      'The URL of the bundle endpoint, with a certificate of a public authority. If there is none, paste the JWT keys of the bundle.',
    bindingWhy: AT_RUN_TIME,
    claims: {
      '/sub': {
        hint: 'The SPIFFE ID, which begins with the trust domain.',
        placeholder: 'spiffe://example.org/crawler',
      },
    },
    draft: { ...EMPTY_DRAFT, keys: 'jwksUri', binding: 'key' },
  },
}

export const PLATFORM_IDS = Object.keys(PRESETS) as PlatformId[]

const GITHUB = /^https:\/\/token\.actions\.githubusercontent\.com(\/|$)|\/_services\/token$/

/** The platform whose tokens a rule accepts, by its issuer and claims; null: none of the presets. */
export function platformOf({
  issuer,
  trustDomain,
  match,
}: Pick<EnrolmentRule, 'issuer' | 'trustDomain' | 'match'>): PlatformId | null {
  const has = (...pointers: string[]) => pointers.some((each) => Object.hasOwn(match, each))
  if (trustDomain !== null) return 'spiffe'
  if (GITHUB.test(issuer ?? '') || has('/repository_id', '/repository_owner_id')) return 'github'
  if (issuer === 'https://gitlab.com' || has('/project_id', '/namespace_id')) return 'gitlab'
  if (issuer === 'https://accounts.google.com') return 'gcp'
  const subjects = [match['/sub']].flat()
  const isServiceAccount = subjects.every((each) => /^system:serviceaccount:/.test(String(each)))
  return isServiceAccount || has('/kubernetes.io/pod/name') ? 'kubernetes' : null
}
