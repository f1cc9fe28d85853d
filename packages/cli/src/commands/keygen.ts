import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { newAgentKey, parseAgentKey } from '../agent-key.ts'
import { writeKeyFile } from '../key-file.ts'
import { fields, heading, print } from '../output.ts'
import { keyFileOf, takesKey } from '../settings.ts'

const HELP = `
The key file is PKCS#8 in PEM, for you alone (0600), and goes both ways:
  $ openssl genpkey -algorithm ed25519 -out agent.pem && countersign keygen --from agent.pem
  $ openssl pkey -in ~/.countersign/agent.pem -pubout`

/** `countersign keygen`: makes or imports the key of an agent. The private key is never printed. */
export function keygenCommand(program: Command): void {
  takesKey(program.command('keygen'))
    .description('make the key of an agent, and never overwrite one')
    .option('--from <pem>', 'import an Ed25519 private key, such as openssl makes')
    .option('--force', 'replace the key that is there: it is lost, and what it was claimed for')
    .addHelpText('after', HELP)
    .action(keygen)
}

function keygen(options: { from?: string; force?: boolean }, command: Command): void {
  const { from, force = false } = options
  const key = from === undefined ? newAgentKey() : importKey(resolve(from))
  const keyFile = keyFileOf(command)
  writeKeyFile(keyFile, key.toPem(), force)
  const text = [
    heading(from === undefined ? 'A new key' : 'The key is imported'),
    '',
    fields([
      ['Public key', key.publicKey],
      ['Key file', keyFile],
    ]),
    '',
    'Keep the file secret: whoever has it is this agent. Next, with a token from its owner:',
    '  countersign claim <token>',
  ]
  print(command, { publicKey: key.publicKey, keyFile }, text.join('\n'))
}

function importKey(path: string) {
  return parseAgentKey(readFileSync(path, 'utf8'), path)
}
