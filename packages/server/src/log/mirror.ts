import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, formatTilePath } from '@countersign/protocol'
import type { Mirror } from './recover-log.ts'

const TIMEOUT_MS = 30_000
/** A bundle of 256 entries of 1 KiB is the largest file of a log. */
const MAX_BYTES = 1024 * 1024

/**
 * Opens a copy of a log.
 * @param from a URL such as `https://mirror.example/log`, or a directory with the same paths
 */
export function openMirror(from: string): Mirror {
  const read = /^https?:\/\//.test(from) ? overHttp(from.replace(/\/$/, '')) : fromDirectory(from)
  return {
    checkpoint: async () => (await read('checkpoint')).toString(),
    tile: (tile) => read(formatTilePath(tile)),
  }
}

function fromDirectory(directory: string): (path: string) => Promise<Buffer> {
  return async (path) => {
    try {
      return await readFile(join(directory, path))
    } catch (cause) {
      throw new CodedError('NOT_FOUND', `The mirror has no ${path}.`, { cause })
    }
  }
}

function overHttp(prefix: string): (path: string) => Promise<Buffer> {
  return async (path) => {
    const response = await fetch(`${prefix}/${path}`, {
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    if (response.ok && bytes.length <= MAX_BYTES) return bytes
    throw new CodedError('NOT_FOUND', `The mirror answers ${response.status} for ${path}.`)
  }
}
