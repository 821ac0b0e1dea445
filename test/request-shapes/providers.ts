import type { Client } from './shape.ts'

const fieldsOf = (adaptor: string) =>
  `the provider's own fields, as QuantumNous/new-api, relay/channel/task/${adaptor} has them`

/** Requests of people who used to call a provider directly. */
export const providers: Client = {
  client: 'Clients of one provider',
  shapes: [
    {
      what: 'Kling: both frames',
      source: fieldsOf('kling'),
      servedBy: 'kling-3.0',
      body: {
        model: 'kling-v2-1',
        prompt: 'x',
        image: '$image',
        image_tail: 'https://203.0.114.1/last.png',
        duration: '5',
      },
      expected: { seconds: '5', size: '1280x720' },
    },
    {
      what: 'Kling: aspect_ratio',
      source: fieldsOf('kling'),
      body: { model: 'kling-v1-6', prompt: 'x', aspect_ratio: '1:1', duration: '5' },
      expected: { seconds: '5', size: '720x720' },
    },
    {
      what: 'Hailuo: the first frame',
      source: fieldsOf('hailuo'),
      body: { model: 'MiniMax-Hailuo-02', prompt: 'x', first_frame_image: '$image', duration: 6, resolution: '1080P' },
      expected: { seconds: '6', size: '1920x1080' },
    },
    {
      what: 'Hailuo: both frames',
      source: fieldsOf('hailuo'),
      body: {
        model: 'MiniMax-Hailuo-02',
        prompt: 'x',
        first_frame_image: '$image',
        last_frame_image: '$url',
        duration: 6,
      },
      expected: { refused: 'last_frame_image' },
    },
    {
      what: 'Seedance: ratio, watermark and seed',
      source: fieldsOf('doubao'),
      body: {
        model: 'doubao-seedance-1-0-pro',
        prompt: 'x',
        ratio: '9:16',
        resolution: '720p',
        duration: 5,
        watermark: false,
        seed: -1,
      },
      expected: { seconds: '5', size: '720x1280' },
    },
    {
      what: 'Seedance: an adaptive ratio',
      source: fieldsOf('doubao'),
      body: { model: 'doubao-seedance-1-0-pro', prompt: 'x', ratio: 'adaptive' },
      expected: { refused: 'ratio' },
    },
    {
      what: 'Vidu: images and resolution',
      source: fieldsOf('vidu'),
      body: { model: 'viduq1', prompt: 'x', images: ['$url'], duration: 5, resolution: '1080p' },
      expected: { seconds: '5', size: '1920x1080' },
    },
    {
      what: 'Wan: both frames',
      source: fieldsOf('ali'),
      body: { model: 'wan2.2-kf2v-flash', prompt: 'x', first_frame_url: '$image', last_frame_url: '$url' },
      expected: { refused: 'last_frame_url' },
    },
    {
      what: 'Wan: a watermark',
      source: fieldsOf('ali'),
      body: { model: 'wan2.5-t2v-preview', prompt: 'x', watermark: true },
      expected: { refused: 'watermark' },
    },
    {
      what: 'Jimeng: aspect_ratio and seed',
      source: fieldsOf('jimeng'),
      body: { model: 'jimeng_v3.0_pro', prompt: 'x', aspect_ratio: '16:9', seed: -1 },
      expected: { seconds: '4', size: '1280x720' },
    },
  ],
}
