import { crc32, deflateRawSync } from 'node:zlib'
import type { ArchivedFile } from '../../packages/server/src/pages/docs/tar-gz.ts'

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
