import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { formatTilePath, type Tile, tileWidth } from '@countersign/protocol'
import { logInfo } from '../../../../test/support/log-client.ts'
import type { TestService } from '../../../../test/support/service.ts'

/** Copies a log as any mirror would: checkpoint, tiles and entries under the same paths. @returns the directory */
export async function mirrorOf({ url }: TestService, dir: string): Promise<string> {
  const { size } = await logInfo(url)
  const tiles: Tile[] = []
  for (const level of ['entries', 0, 1] as const) {
    for (let index = 0; tileWidth(level, index, size) > 0; index++) {
      tiles.push({ level, index, width: tileWidth(level, index, size) })
    }
  }
  for (const path of ['checkpoint', ...tiles.map(formatTilePath)]) {
    const response = await fetch(`${url}/log/${path}`)
    assert.equal(response.status, 200, path)
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), Buffer.from(await response.arrayBuffer()))
  }
  return dir
}
