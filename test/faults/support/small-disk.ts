import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cleanup } from '../../support/service.ts'

/** A small file system that can be filled completely. */
export interface SmallDisk {
  readonly dir: string
  fill(): void
  makeRoom(): void
}

/** Whether this process may mount one, else the reason for skipping the test. */
export function diskSkipReason(): string | false {
  if (process.platform !== 'linux') return 'a tmpfs is mounted on Linux alone'
  const dir = mkdtempSync(join(tmpdir(), 'countersign-disk-'))
  const { status, stderr, error } = mount(dir, 1)
  if (status === 0) spawnSync('umount', [dir])
  rmdirSync(dir)
  return status === 0 ? false : `a tmpfs cannot be mounted here: ${error?.message ?? stderr}`.trim()
}

export function mountSmallDisk(t: Cleanup, mebibytes: number): SmallDisk {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-disk-'))
  const { status, stderr } = mount(dir, mebibytes)
  if (status !== 0) throw new Error(`mount: ${stderr}`)
  t.after(() => {
    // Lazily, because processes that still have files open on it are killed afterwards.
    spawnSync('umount', ['-l', dir])
    rmdirSync(dir)
  })
  // PostgreSQL runs as another user.
  chmodSync(dir, 0o755)
  const ballast = join(dir, 'ballast')
  return {
    dir,
    fill: () => writeUntilFull(ballast),
    makeRoom: () => rmSync(ballast),
  }
}

function mount(dir: string, mebibytes: number) {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', dir], {
    encoding: 'utf8',
  })
}

function writeUntilFull(file: string): void {
  const fd = openSync(file, 'a')
  try {
    for (const size of [1 << 20, 1 << 12]) {
      const block = Buffer.alloc(size, 1)
      while (writes(fd, block));
    }
  } finally {
    closeSync(fd)
  }
}

function writes(fd: number, block: Buffer): boolean {
  try {
    return writeSync(fd, block) === block.length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
