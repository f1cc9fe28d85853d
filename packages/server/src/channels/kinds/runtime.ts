import type { ProofMethodInWords } from '@countersign/protocol'
import { cliPackage } from '../../base/packages.ts'
import { type ChannelKind, InvalidHandleError, type Proof } from './kind.ts'

const DAY_MS = 24 * 3_600_000
const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/

/**
 * A running agent, proven by answering a challenge of this service with its certified key. The name of the place is
 * self-declared by the owner, because the answer does not show where the agent runs.
 */
export const runtime: ChannelKind = {
  id: 'runtime',
  label: 'Runtime',
  tier: 1,
  chat: false,
  proves:
    'The agent runs and holds its certified key: it signs a challenge of this service. The name of the place is self-declared.',
  field: {
    label: 'Name of the place where it runs',
    placeholder: 'home-server',
    hint: 'A public name that you choose, such as home-server or eu-west-1.',
  },
  freshForMs: 30 * DAY_MS,
  parse(text) {
    const name = text.trim().toLowerCase()
    if (NAME.test(name)) return name
    throw new InvalidHandleError(
      'The name of a place is 1 to 64 letters, digits, dots, underscores and hyphens, such as home-server; the first and the last are letters or digits.',
    )
  },
  link: () => null,
  methods: (proof) => [commandMethod(proof), httpMethod(proof)],
  check: null,
}

function commandMethod({ did, baseUrl }: Proof): ProofMethodInWords {
  const command = `npx -y ${cliPackage(baseUrl)} runtime ${did} --url ${baseUrl}`
  return {
    id: 'command',
    title: 'With the command',
    step: 'Run this on the agent’s machine, with its key. The proof is valid for 30 days. Repeat it with cron.',
    fields: [
      { label: 'Command', value: command, multiline: false },
      { label: 'Once a week, by cron', value: `17 4 * * 1 ${command}`, multiline: false },
    ],
  }
}

/** The script builds the challenge from the nonce, so that a malicious server cannot make the agent sign anything else. */
function httpMethod({ naming, did, baseUrl }: Proof): ProofMethodInWords {
  const json = `-H 'Content-Type: application/json'`
  const address = `${baseUrl}/api/agents/${did}/runtime`
  const script = [
    `NONCE=$(curl -sS ${address}/challenge ${json} -d '{}' \\`,
    `  | sed 's/.*"challenge":"[^"]*:\\([^":]*\\)".*/\\1/')`,
    `printf %s "${naming.challengePrefix}${baseUrl}:$NONCE" > challenge.txt`,
    'SIGNATURE=$(openssl pkeyutl -sign -rawin -inkey agent.pem -in challenge.txt | openssl base64 -A)',
    `curl -sS ${address} ${json} \\`,
    `  -d "{\\"challenge\\":\\"$(cat challenge.txt)\\",\\"signature\\":\\"$SIGNATURE\\"}"`,
  ]
  return {
    id: 'http',
    title: 'With plain HTTP',
    step: 'Or send two requests: get a challenge, and send it back with the agent’s signature within 5 minutes.',
    fields: [{ label: 'With curl and openssl', value: script.join('\n'), multiline: true }],
  }
}
