import { randomUUID } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file for its owner only, so that it is on disk before this returns, and nobody ever reads a part of it.
 * @param options `replace`: whether to replace an existing file. Default: true; otherwise the error has the code EEXIST
 */
export async function writeDurably(
  path: string,
  text: string,
  { replace = true }: { readonly replace?: boolean } = {},
): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    await writeNew(draft, text)
    await (replace ? rename(draft, path) : link(draft, path))
  } finally {
    await rm(draft, { force: true })
  }
  await syncDirectory(dirname(path))
}

async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Windows cannot open directories and needs no sync. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
