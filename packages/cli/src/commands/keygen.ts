import { readFileSync } from 'node:fs'
import { encodeBase64 } from '@countersign/protocol'
import { CountersignError, keyFromPem, newKey } from '@countersign/sdk'
import { writeKeyFile } from '@countersign/sdk/node'
import { codeOf, Failure, fields } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey } from '../invocation.ts'

const HELP = `
The key file is PKCS#8 in PEM with mode 0600, compatible with openssl. An existing key is not overwritten without --force.
  $ openssl genpkey -algorithm ed25519 -out agent.pem && countersign keygen --from agent.pem
  $ openssl pkey -in ~/.countersign/agent.pem -pubout`

interface KeygenOptions {
  readonly from?: string
  readonly force?: boolean
}

/** `countersign keygen`: generates or imports the key of an agent. It never prints the private key. */
export function keygenCommand(program: Command, cli: Invocation): void {
  takesKey(program.command('keygen'))
    .description('generate the key of an agent')
    .option('--from <pem>', 'import an Ed25519 private key in PEM, for example from openssl')
    .option('--force', 'replace an existing key; its certificates can no longer be used')
    .addHelpText('after', HELP)
    .action((options: KeygenOptions) => keygen(options, cli))
}

async function keygen({ from, force = false }: KeygenOptions, cli: Invocation): Promise<void> {
  const key = from === undefined ? await newKey() : await readKey(cli.path(from))
  const { keyFile } = cli
  await writeKey(keyFile, key.pem, force)
  const publicKey = encodeBase64(key.publicKey)
  const text = [
    cli.heading(from === undefined ? 'Key generated' : 'Key imported'),
    '',
    fields([
      ['Public key', publicKey],
      ['Key file', keyFile],
    ]),
    '',
    'Keep the file secret: anyone who has it can act as this agent. Next, with a claim token from the owner:',
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
      `${path} already exists. Choose another file with --key, or replace it with --force. An agent without its key needs its owner to recover the DID.`,
      { cause },
    )
  }
}
