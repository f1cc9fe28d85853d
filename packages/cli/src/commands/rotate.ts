import { fields, formatMinute } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { rotateOwnKey } from '../rotation.ts'

const HELP = `
Makes a new key, has the service replace the old one by it, and puts it into the key file. The DID stays, and so do its name,
grade and channels. The old key verifies nowhere any more; it is kept in <key file>.previous. The owner can contest the rotation
for 72 hours. If the command is interrupted, run it again: the new key is in <key file>.next until the rotation is confirmed.`

/** `countersign rotate [did]`: replaces the agent's own key. */
export function rotateCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('rotate')))
    .description('replace your key by a new one; your DID stays')
    .argument('[did]', 'your DID, if your key has several')
    .addHelpText('after', HELP)
    .action((did: string | undefined) => rotate(did, cli))
}

async function rotate(did: string | undefined, cli: Invocation): Promise<void> {
  const rotated = await rotateOwnKey(cli, did)
  const rows = [
    ['DID', rotated.did],
    ['Public key', rotated.publicKey],
    ['Key number', String(rotated.keySequence)],
    ['Since', formatMinute(rotated.keyChangedAt)],
    ['Key file', cli.keyFile],
    ['Former key', rotated.previousFile],
  ] as const
  cli.print(rotated, `${cli.heading('Your key is replaced')}\n\n${fields(rows)}`)
}
