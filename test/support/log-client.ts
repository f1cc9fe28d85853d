import assert from 'node:assert/strict'
import {
  type Checkpoint,
  formatTilePath,
  hashLeaf,
  type LogEntry,
  type LogInfo,
  type NoteKey,
  openCheckpoint,
  parseEntryBundle,
  parseLogEntry,
  parseVerifierKey,
  readHashesFromTiles,
  type Tile,
  tileWidth,
  treeRoot,
} from '@countersign/protocol'
import sodium from 'sodium-native'
import { until } from './until.ts'

/** A log as a stranger sees it, who has nothing but its key. */
export interface ReadLog extends Checkpoint {
  readonly entries: readonly LogEntry[]
  readonly raw: readonly Uint8Array[]
  readonly signed: string
}

export function verifyEd25519(key: Uint8Array, message: Uint8Array, signature: Uint8Array) {
  const [bytes, signed] = [Buffer.from(signature), Buffer.from(message)]
  return sodium.crypto_sign_verify_detached(bytes, signed, Buffer.from(key))
}

export async function logInfo(url: string): Promise<LogInfo> {
  const response = await fetch(`${url}/log`)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as LogInfo
}

export async function logKey(url: string): Promise<NoteKey> {
  const key = parseVerifierKey((await logInfo(url)).verifierKey)
  assert.ok(key)
  return key
}

/** The newest checkpoint, with its signature verified. @param prefix such as `http://localhost:1/log` */
export async function readCheckpoint(
  prefix: string,
  key: NoteKey,
): Promise<{ readonly checkpoint: Checkpoint; readonly signed: string }> {
  const response = await fetch(`${prefix}/checkpoint`)
  assert.equal(response.status, 200, await response.clone().text())
  const signed = await response.text()
  const opened = await openCheckpoint(signed, key, verifyEd25519)
  assert.ok(opened, 'the checkpoint is signed by the log')
  return { checkpoint: opened.checkpoint, signed }
}

export async function fetchTile(prefix: string, tile: Tile): Promise<Uint8Array> {
  const response = await fetch(`${prefix}/${formatTilePath(tile)}`)
  if (response.status !== 200) throw new Error(`${formatTilePath(tile)}: ${response.status}`)
  return new Uint8Array(await response.arrayBuffer())
}

/** Reads a whole log and verifies the signature, the root over the raw entries, and the tiles. Throws if anything is wrong. */
export async function readLog(prefix: string, key: NoteKey): Promise<ReadLog> {
  const { checkpoint, signed } = await readCheckpoint(prefix, key)
  const { size, root } = checkpoint
  const raw: Uint8Array[] = []
  for (let index = 0; index * 256 < size; index++) {
    const width = tileWidth('entries', index, size)
    const bundle = parseEntryBundle(await fetchTile(prefix, { level: 'entries', index, width }))
    assert.equal(bundle?.length, width)
    raw.push(...(bundle ?? []))
  }
  const leaves = Buffer.concat(raw.map(hashLeaf))
  const fromTiles = readHashesFromTiles(size, (tile) => fetchTile(prefix, tile))
  assert.deepEqual(await treeRoot(size, fromTiles), Uint8Array.from(root), 'the root of the tiles')
  for (let index = 0; index * 256 < size; index++) {
    const width = tileWidth(0, index, size)
    const own = leaves.subarray(index * 8192, index * 8192 + width * 32)
    const served = Buffer.from(await fetchTile(prefix, { level: 0, index, width }))
    assert.ok(served.equals(own), 'the hashes of the entries are those of the tiles')
  }
  const entries = raw.map((bytes) => {
    const entry = parseLogEntry(bytes)
    assert.ok(entry, Buffer.from(bytes).toString())
    return entry
  })
  return { ...checkpoint, entries, raw, signed }
}

/** Waits until the log has this many entries under its checkpoint. */
export async function untilLogged(
  service: { readonly url: string; readonly tick?: () => void },
  size: number,
): Promise<void> {
  await until(async () => {
    service.tick?.()
    const response = await fetch(`${service.url}/log/checkpoint`)
    return response.status === 200 && Number((await response.text()).split('\n')[1]) >= size
  })
}
