import type { ReactElement } from 'react'
import { drawable } from './drawable.ts'
import { PreviewSeal } from './preview-seal.tsx'
import { STYLES } from './preview-styles.ts'
import { clipped } from './svg-text.ts'

/** The data of the preview image of the start page. */
export interface StartPreviewData {
  readonly serviceName: string
  readonly host: string
}

const INK = '#0b5d4b'

/** The preview image of the start page. */
export function startPreview({ serviceName, host }: StartPreviewData): ReactElement {
  return (
    <div style={{ ...STYLES.ground, backgroundColor: '#f6f5f1' }}>
      <div style={{ ...STYLES.frame, border: `3px solid ${INK}` }}>
        <div style={{ ...STYLES.inside, border: `1px solid ${INK}` }}>
          <div style={STYLES.sheet}>
            <div style={STYLES.heading}>
              <span>{clipped(drawable(serviceName) ?? host, 40)}</span>
              <span>Certificates for software agents</span>
            </div>
            <div style={STYLES.middle}>
              <div style={STYLES.names}>
                <span style={STYLES.claim}>Know who is behind an agent</span>
              </div>
              <div style={STYLES.seal}>
                <PreviewSeal seed={host} ink={INK}>
                  <path d="m-12 1 8 8L13-9" strokeWidth="5" strokeLinecap="round" />
                </PreviewSeal>
              </div>
            </div>
            <div style={STYLES.foot}>
              <span>A verified owner, a key, and anyone can check both</span>
              <span style={STYLES.soft}>{clipped(host, 60)}</span>
            </div>
          </div>
        </div>
      </div>
    </div>
  )
}
