import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type VerifiedCertificate, verifyCertificate } from '@countersign/sdk'
import {
  assertReference,
  Failure,
  type Field,
  fields,
  formatMinute,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { ownAgent } from '../own-agent.ts'

const GET_HELP = `
Prints the certificate: a JWT that anyone can verify without asking the service. It proves nothing about who sends it.
  $ countersign certificate get > agent.jwt                    of your own agent
  $ countersign certificate get svc:agent:… | countersign certificate verify -`

const VERIFY_HELP = `
Verifies type, issuer, signature, times and status. The issuer is the service (--url) and no other; its keys and the status
list are fetched from it. To verify without a network, give both as files:
  $ countersign certificate verify agent.jwt --jwks jwks.json --status-list list.jwt

Exit code 0: the certificate is valid. 4: it is not. 5: the keys or the status list cannot be read.`

interface VerifyOptions {
  readonly jwks?: string
  readonly statusList?: string
}

/** `countersign certificate get|verify`. */
export function certificateCommand(program: Command, cli: Invocation): void {
  const command = takesService(program.command('certificate')).description(
    'get the signed certificate of an agent, and verify one',
  )
  takesKey(takesService(command.command('get')))
    .description('print the signed certificate of an agent')
    .argument('[agent]', 'a DID, its last 24 characters, or a public key; default: your own agent')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', GET_HELP)
    .action((agent: string | undefined) => get(agent, cli))
  takesService(command.command('verify'))
    .description('verify a certificate')
    .argument('<file>', 'the certificate; - reads standard input')
    .option('--jwks <file>', 'the keys of the issuer (/.well-known/jwks.json)')
    .option('--status-list <file>', 'the status list to which the certificate refers')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', VERIFY_HELP)
    .action((file: string, options: VerifyOptions) => verify(file, options, cli))
}

async function get(agent: string | undefined, cli: Invocation): Promise<void> {
  if (agent !== undefined) assertReference(agent)
  const reference = agent ?? (await ownAgent(cli, [])).did
  const certificate = await cli.registry().certificate(reference)
  cli.print({ certificate }, certificate)
}

async function verify(file: string, options: VerifyOptions, cli: Invocation): Promise<void> {
  const token = (await read(file, cli)).trim()
  const jwks = options.jwks === undefined ? undefined : parse(await read(options.jwks, cli))
  const issuer = { issuer: cli.service.origin, jwks: jwks as never }
  const statusLists =
    options.statusList === undefined ? undefined : [(await read(options.statusList, cli)).trim()]
  const certificate = await verifyCertificate(token, { issuers: [issuer], statusLists })
  const title = cli.verdict(true, `The certificate of ${certificate.did} is valid`)
  cli.print(printed(certificate), `${title}\n\n${fields(rowsOf(certificate))}`)
}

function printed(certificate: VerifiedCertificate): object {
  const { publicKey, issuedAt, expiresAt, statusAsOf, ...rest } = certificate
  return {
    ...rest,
    publicKey: Buffer.from(publicKey).toString('base64'),
    issuedAt: timestamp(issuedAt),
    expiresAt: timestamp(expiresAt),
    statusAsOf: statusAsOf === null ? null : timestamp(statusAsOf),
  }
}

function rowsOf(certificate: VerifiedCertificate): Field[] {
  const { did, issuer, identityMethod, grade, keyThumbprint, expiresAt, statusAsOf } = certificate
  const { ownerChangedAt } = certificate
  return [
    ['DID', did],
    ['Issuer', issuer],
    ['Owner', identityMethod === null ? 'identity not verified' : `verified by ${identityMethod}`],
    ...(ownerChangedAt === null ? [] : [['Owner since', formatMinute(ownerChangedAt)] as const]),
    ['Grade', grade],
    ['Key', keyThumbprint],
    ['Expires', formatMinute(expiresAt)],
    ['Status as of', statusAsOf === null ? 'unknown' : formatMinute(statusAsOf)],
  ]
}

function timestamp(at: number): string {
  return new Date(at).toISOString()
}

async function read(file: string, cli: Invocation): Promise<string> {
  if (file === '-') return text(cli.io.stdin)
  try {
    return await readFile(cli.path(file), 'utf8')
  } catch (cause) {
    throw new Failure('USAGE', `${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new Failure('USAGE', 'The file of --jwks is not JSON.', { cause })
  }
}
