import { crc32, deflateRawSync, gzipSync } from 'node:zlib'

/** A file of an archive. */
export interface ArchivedFile {
  /** With slashes; ASCII. */
  readonly path: string
  readonly bytes: Buffer
}

/** 1 January 1980, the first date of the format, so that the same files give the same bytes. */
const DOS_DATE = 0x21
const REGULAR_FILE = 0o100644
const UNIX = 3

/** A zip archive (APPNOTE 6.3, without its extensions). */
export function zip(files: readonly ArchivedFile[]): Buffer {
  const entries: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { path, bytes } of files) {
    const name = Buffer.from(path, 'ascii')
    const packed = deflateRawSync(bytes, { level: 9 })
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt16LE(DOS_DATE, 8)
    common.writeUInt32LE(crc32(bytes), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(bytes.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed])
    const madeBy = Buffer.from([20, UNIX])
    const more = Buffer.alloc(14)
    more.writeUInt32LE((REGULAR_FILE << 16) >>> 0, 6)
    more.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02'), madeBy, common, more, name)
    entries.push(local)
    offset += local.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(listed.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...entries, listed, Buffer.from('PK\x05\x06'), end])
}

const BLOCK = 512

/** A compressed tar archive (POSIX.1-1988, ustar). Paths have at most 100 characters. */
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
