import { gzipSync } from 'node:zlib'

/** A file of an archive. */
export interface ArchivedFile {
  /** With slashes; ASCII. */
  readonly path: string
  readonly bytes: Buffer
}

const BLOCK = 512

/** A compressed tar archive (POSIX.1-1988, ustar) without dates: the same files give the same bytes. Paths have at most 100 characters. */
export function tarGz(files: readonly ArchivedFile[]): Buffer {
  const blocks = files.flatMap(({ path, bytes }) => [
    tarHeader(path, bytes.length),
    bytes,
    Buffer.alloc(-bytes.length & (BLOCK - 1)),
  ])
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
}

function tarHeader(path: string, size: number): Buffer {
  if (path.length > 100) throw new Error(`${path} is too long for a tar archive`)
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  header.write(path, 0, 'ascii')
  header.write(octal(0o644, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(size, 11), 124)
  header.write(octal(0, 11), 136)
  // The checksum counts itself as spaces.
  header.write('        ', 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)} `, 148)
  return header
}
