import { readSettings } from '../../../src/base/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { openDatabase } from '../../../src/database/open-database.ts'
import { Witness } from '../../../src/log/cosigning/witness.ts'
import { readWitnessLogs } from '../../../src/log/cosigning/witness-logs.ts'
import { EFFECTS } from '../../../src/service/effects.ts'

/* Answers one request and kills its own process with SIGKILL at a step. Arguments: the settings as JSON, the step, the request. */

export type Step = 'signed' | 'committed' | 'answered'

const [env = '{}', step = '', body = ''] = process.argv.slice(2)
const settings = readSettings(JSON.parse(env) as Record<string, string>)
const db = await openDatabase(settings.database, Date.now, EFFECTS)
const die = () => process.kill(process.pid, 'SIGKILL')
const watched: Pick<Database, 'read' | 'write'> = {
  read: db.read,
  async write(work) {
    if (step === 'signed') die()
    const result = await db.write(work)
    if (step === 'committed') die()
    return result
  },
}
const { dataDir, baseUrl } = settings
const witness = new Witness({
  db: watched,
  dataDir,
  host: baseUrl.host,
  now: Date.now,
  logs: readWitnessLogs(settings) ?? [],
  onRefusal: () => undefined,
})
const { kind } = await witness.addCheckpoint(body)
process.stdout.write(kind, die)
