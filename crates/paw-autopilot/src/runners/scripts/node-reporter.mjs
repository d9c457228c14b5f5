// One JSON record per test, for git-paw.
import { resolve } from 'node:path';

export default async function* report(source) {
  const names = [];
  const words = new Map();
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout') {
      // Some versions report the path relative to the directory, others absolute.
      const file = resolve(data.file);
      words.set(file, ((words.get(file) ?? '') + data.message).slice(-8000));
    } else if (type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    } else if (type === 'test:pass' || type === 'test:fail') {
      const error = data.details?.error;
      const parents = names.slice(0, data.nesting);
      const isFile = data.nesting === 0 && data.line === 1 && data.column === 1 && resolve(data.name) === data.file;
      yield JSON.stringify({
        name: [...parents, data.name].join(' > '),
        file: data.file ?? null,
        ok: type === 'test:pass',
        skipped: data.skip !== undefined || data.todo !== undefined,
        suite: data.details?.type === 'suite',
        // A file without tests is reported as a test.
        whole: isFile,
        // The process of a whole file crashed, so its tests have no records.
        crashed: error?.exitCode !== undefined,
        failure: error?.failureType ?? null,
        message: String(error?.cause?.stack ?? error?.cause ?? error?.message ?? ''),
        said: words.get(resolve(data.file ?? data.name)) ?? '',
      }) + '\n';
    }
  }
  yield JSON.stringify({ end: true }) + '\n';
}
