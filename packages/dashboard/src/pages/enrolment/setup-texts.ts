import type { EnrolmentRule } from '@countersign/protocol'
import { type PlatformId, PRESETS, platformOf } from './presets.ts'

/** A text to copy to the platform. */
interface SetupText {
  readonly label: string
  readonly text: string
}

/** How a platform asks for tokens for a rule. */
export interface Setup {
  readonly title: string
  readonly lead: string
  readonly texts: readonly SetupText[]
}

interface Service {
  readonly baseUrl: string
  /** The package of the command, as npx takes it. */
  readonly cliPackage: string
}

/** The texts of the platform of a rule, with its audience and what it matches. */
export function setupOf(rule: EnrolmentRule, service: Service): Setup {
  const platform = platformOf(rule)
  if (platform === null) return { title: 'Set up the platform', ...OTHER(rule, service) }
  return { title: `Set up ${PRESETS[platform].name}`, ...SETUPS[platform](rule, service) }
}

type SetupOf = (rule: EnrolmentRule, service: Service) => Omit<Setup, 'title'>

const TOKEN_FOLDER = '/var/run/secrets/countersign'
/** Kubernetes issues no token for less. */
const LEAST_KUBERNETES_SECONDS = 600
/** Longer lifetimes have no use: the kubelet replaces the token at 80 % of it. */
const MOST_KUBERNETES_SECONDS = 3600

/** The words of the command, which no shell needs to quote. */
function enrolWords(
  { id }: EnrolmentRule,
  { baseUrl, cliPackage }: Service,
  key: string,
  ...source: string[]
): string[] {
  const command = ['npx', '-y', cliPackage, 'enrol', '--service', baseUrl, '--rule', id]
  return [...command, '--key', key, '--create-key', ...source]
}

/** The command for a shell, on several lines. */
function enrolCommand(...input: Parameters<typeof enrolWords>): string {
  return enrolWords(...input)
    .join(' ')
    .replaceAll(/ (?=--(?:service|rule|key|github|gcp|token|hold))/g, ' \\\n  ')
}

/** A scalar of YAML, quoted as JSON. */
const quoted = (value: unknown) => JSON.stringify(value)

/** The only value that a rule accepts for a claim; null: several, or not matched. */
function onlyValue({ match }: EnrolmentRule, pointer: string): string | null {
  const values = [match[pointer]].flat()
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : null
}

/** Says what a platform that fixes the audience beforehand cannot do. */
function fixedAudience({ binding }: EnrolmentRule): string {
  return binding === 'token'
    ? ''
    : ' The binding of this rule is “key”, which needs an audience at run time: create a rule with the binding “token”.'
}

const kubernetes: SetupOf = (rule, service) => {
  const [, , namespace, account] = (onlyValue(rule, '/sub') ?? '').split(':')
  const seconds = Math.min(rule.maxTokenSeconds, MOST_KUBERNETES_SECONDS)
  const source = ['--token-file', `${TOKEN_FOLDER}/token`, '--hold', '--end-on-exit']
  const words = enrolWords(rule, service, '/keys/agent.pem', ...source)
  const text = `spec:
  serviceAccountName: ${account === undefined ? 'NAME' : quoted(account)}
  volumes:
    - name: countersign-token
      projected:
        sources:
          - serviceAccountToken:
              path: token
              audience: ${rule.audience}
              expirationSeconds: ${Math.max(seconds, LEAST_KUBERNETES_SECONDS)}
    - name: agent-key
      emptyDir:
        medium: Memory
  containers:
    # Your own container mounts agent-key too, and signs with /keys/agent.pem.
    - name: enrol
      image: node:24-slim
      command:
${words.map((each) => `        - ${quoted(each)}`).join('\n')}
      volumeMounts:
        - name: countersign-token
          mountPath: ${TOKEN_FOLDER}
          readOnly: true
        - name: agent-key
          mountPath: /keys
`
  const place = namespace === undefined ? '' : ` in the namespace ${namespace}`
  return {
    lead: `Add this to the specification of the pod${place}. The container enrols, renews, and ends the agent when the pod stops.${fixedAudience(rule)}`,
    texts: [{ label: 'Pod: projected volume and container', text }],
  }
}

const github: SetupOf = (rule, service) => {
  const environment = onlyValue(rule, '/environment')
  const words = enrolWords(rule, service, 'agent.pem', '--github')
  const text = `jobs:
  agent:
    runs-on: ubuntu-latest${environment === null ? '' : `\n    environment: ${quoted(environment)}`}
    permissions:
      id-token: write
      contents: read
    steps:
      - name: Enrol
        run: >-
          ${words.join('\n          ').replaceAll(/(npx|-y|tgz|--service|--rule|--key)\n +/g, '$1 ')}
`
  return {
    lead: 'Add this job, or its permissions and its step, to the workflow. Tokens of pull_request_target and workflow_run are refused unless the rule matches /event_name.',
    texts: [{ label: 'Workflow in .github/workflows', text }],
  }
}

const gitlab: SetupOf = (rule, service) => {
  const words = enrolWords(rule, service, 'agent.pem', '--token-file', 'token')
  const text = `agent:
  image: node:24-slim
  id_tokens:
    COUNTERSIGN_TOKEN:
      aud: ${rule.audience}
  script:
    - printf %s "$COUNTERSIGN_TOKEN" > token
    - ${words.join(' ')}
`
  return {
    lead: `Add this job, or its token and its script, to the pipeline.${fixedAudience(rule)}`,
    texts: [{ label: '.gitlab-ci.yml', text }],
  }
}

const gcp: SetupOf = (rule, service) => ({
  lead: 'Run the command on the machine, with the service account attached. It asks the metadata server for a token for its key.',
  texts: [
    {
      label: 'Command on the machine',
      text: enrolCommand(rule, service, 'agent.pem', '--gcp', '--hold'),
    },
    {
      label: 'The token that it asks for',
      text: `curl -fsS -H 'Metadata-Flavor: Google' \\
  "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity?format=full&audience=${rule.audience}/$THUMBPRINT"`,
    },
  ],
})

const spiffe: SetupOf = (rule, service) => ({
  lead: `Save the script, make it executable, and run the command beside it. ${
    rule.binding === 'key'
      ? 'The command gives the script the audience, which names the key.'
      : 'With spiffe-helper, use --token-file and its file instead.'
  }`,
  texts: [
    {
      label: 'svid.sh',
      text: `#!/bin/sh
spire-agent api fetch jwt -audience "$ENROL_AUDIENCE" -output json |
  jq -r '.[0].svids[0].svid'
`,
    },
    {
      label: 'Command beside the workload',
      text: enrolCommand(rule, service, 'agent.pem', '--token-command', './svid.sh', '--hold'),
    },
  ],
})

const OTHER: SetupOf = (rule, service) => ({
  lead: 'Write a program that prints a token of the platform. The command gives it the audience in ENROL_AUDIENCE.',
  texts: [
    {
      label: 'Command beside the workload',
      text: enrolCommand(rule, service, 'agent.pem', '--token-command', './token.sh', '--hold'),
    },
  ],
})

const SETUPS: Readonly<Record<PlatformId, SetupOf>> = { kubernetes, github, gitlab, gcp, spiffe }
