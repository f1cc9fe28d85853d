import { readSettings } from '../../src/base/config.ts'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open-database.ts'
import { openServiceKey } from '../../src/secrets/service-keys.ts'
import { EFFECTS } from '../../src/service/effects.ts'
import { openNode } from './support.ts'

/* Sequences, signs and publishes, and kills its own process with SIGKILL at a step. Arguments: the settings as JSON, the step. */

export type Step = 'sequenced' | 'anchored' | 'signed' | 'published'

const [env = '{}', step = ''] = process.argv.slice(2)
const settings = readSettings(JSON.parse(env) as Record<string, string>)
const db = await openDatabase(settings.database, Date.now, EFFECTS)
const die = () => process.kill(process.pid, 'SIGKILL')
const key = await openServiceKey({ db, folders: settings }, 'log')
let isSigned = false
const killed = {
  publicKey: key.publicKey,
  sign(message: Uint8Array) {
    if (step === 'anchored') die()
    isSigned = true
    return key.sign(message)
  },
}
const watched: Pick<Database, 'read' | 'write'> = {
  read: db.read,
  async write(work) {
    if (isSigned && step === 'signed') die()
    const before = await sizeNow()
    const result = await db.write(work)
    if (step === 'sequenced' && (await sizeNow()) > before) die()
    if (step === 'published' && isSigned) die()
    return result
  },
}

async function sizeNow(): Promise<number> {
  const row = await db.read.selectFrom('log_epochs').select('size').executeTakeFirst()
  return row?.size ?? 0
}

await (await openNode(settings, watched, { key: killed })).run()
await db.close()
