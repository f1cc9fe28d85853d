import { readFileSync } from 'node:fs'
import { encodeBase64 } from '@countersign/protocol'
import { CountersignError, keyFromPem, newKey } from '@countersign/sdk'
import { writeKeyFile } from '@countersign/sdk/node'
import type { Command } from 'commander'
import { codeOf, Failure } from '../errors.ts'
import { type Invocation, takesKey } from '../invocation.ts'
import { fields } from '../output.ts'

const HELP = `
The key file is PKCS#8 in PEM, for you alone (0600), and goes both ways:
  $ openssl genpkey -algorithm ed25519 -out agent.pem && countersign keygen --from agent.pem
  $ openssl pkey -in ~/.countersign/agent.pem -pubout`

interface KeygenOptions {
  readonly from?: string
  readonly force?: boolean
}

/** `countersign keygen`: generates or imports the key of an agent. It never prints the private key. */
export function keygenCommand(program: Command, cli: Invocation): void {
  takesKey(program.command('keygen'))
    .description('make the key of an agent, and never overwrite one')
    .option('--from <pem>', 'import an Ed25519 private key, such as openssl makes')
    .option('--force', 'replace the key that is there: it is lost, and what it was claimed for')
    .addHelpText('after', HELP)
    .action((options: KeygenOptions) => keygen(options, cli))
}

async function keygen({ from, force = false }: KeygenOptions, cli: Invocation): Promise<void> {
  const key = from === undefined ? await newKey() : await readKey(cli.path(from))
  const { keyFile } = cli
  await writeKey(keyFile, key.pem, force)
  const publicKey = encodeBase64(key.publicKey)
  const text = [
    cli.heading(from === undefined ? 'A new key' : 'The key is imported'),
    '',
    fields([
      ['Public key', publicKey],
      ['Key file', keyFile],
    ]),
    '',
    'Keep the file secret: whoever has it is this agent. Next, with a token from its owner:',
    `  ${cli.command} claim <token>`,
  ]
  cli.print({ publicKey, keyFile }, text.join('\n'))
}

async function readKey(path: string) {
  const pem = readFileSync(path, 'utf8')
  try {
    return { pem, publicKey: (await keyFromPem(pem)).publicKey }
  } catch (cause) {
    if (!(cause instanceof CountersignError)) throw cause
    throw new Failure('UNUSABLE_KEY', `${path}: ${cause.message}`, { cause })
  }
}

async function writeKey(path: string, pem: string, replace: boolean): Promise<void> {
  try {
    await writeKeyFile(path, pem, { replace })
  } catch (cause) {
    if (codeOf(cause) !== 'KEY_EXISTS') throw cause
    throw new Failure(
      'KEY_EXISTS',
      `${path} exists, and an agent without its key needs its owner to recover the DID. Choose another file with --key, or replace it with --force.`,
      { cause },
    )
  }
}
