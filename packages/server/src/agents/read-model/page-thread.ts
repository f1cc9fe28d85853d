import { parentPort, workerData } from 'node:worker_threads'
import { kyselyOver, openConnection } from '../../database/sqlite/connection.ts'
import { pageAfter } from './agent-pages.ts'

// Reads the agents of a SQLite file: a page for each message, and null after the last.
const db = kyselyOver(openConnection(workerData, { readOnly: true }))
let after = 0
let reading = Promise.resolve()
parentPort?.on('message', () => {
  reading = reading.then(sendNext)
})

async function sendNext(): Promise<void> {
  const page = await pageAfter(db, after)
  if (page === null) return parentPort?.postMessage(null)
  after = page.last
  const { words, keys } = page.unmodified
  parentPort?.postMessage(page, [words.buffer, keys.buffer])
}
