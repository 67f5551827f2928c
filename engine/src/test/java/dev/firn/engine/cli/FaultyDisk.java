package dev.firn.engine.cli;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.ProviderMismatchException;
import java.nio.file.StandardOpenOption;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.spi.FileSystemProvider;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * A disk on which files whose names begin alike can fail to be made, to be written or to stay as
 * they were written. All else is the file system below; paths read like those there. Thread-safe
 * but for the faults, which are set before.
 */
final class FaultyDisk extends FileSystem {

  /** What is done when a file is made, before it is. */
  @FunctionalInterface
  interface Creation {
    void of(Path file) throws IOException;
  }

  private final FileSystem below;
  private final Provider provider = new Provider();
  private final AtomicInteger writes = new AtomicInteger();
  private final AtomicInteger faults = new AtomicInteger();

  private String prefix = "none";
  private int writesMax = Integer.MAX_VALUE;
  private boolean flips;
  private Creation creation = file -> {};

  private FaultyDisk(FileSystem below) {
    this.below = below;
  }

  /** The disk that a directory is on. */
  static FaultyDisk of(Path directory) {
    return new FaultyDisk(directory.getFileSystem());
  }

  /** The path as one of this disk. */
  Path at(Path path) {
    return new At(path);
  }

  /** The disk is full after some writes to files of such names. */
  void fullAfter(int someWrites, String namesBegin) {
    prefix = namesBegin;
    writesMax = someWrites;
  }

  /** A bit of every write to files of such names is another on disk than was written. */
  void flipABitOfEachWrite(String namesBegin) {
    prefix = namesBegin;
    flips = true;
  }

  /** Does something when files of such names are made. */
  void whenMade(String namesBegin, Creation does) {
    prefix = namesBegin;
    creation = does;
  }

  /** Faults that were met. */
  int faults() {
    return faults.get();
  }

  private boolean isFaulty(Path path) {
    return path.getFileName().toString().startsWith(prefix);
  }

  private static Path below(Path path) {
    if (path instanceof At at) {
      return at.below;
    }
    throw new ProviderMismatchException();
  }

  // ---- files

  private final class Provider extends FileSystemProvider {
    private FileSystemProvider real() {
      return below.provider();
    }

    private void make(Path path, Set<? extends OpenOption> options) throws IOException {
      if (isFaulty(path) && options.contains(StandardOpenOption.CREATE_NEW)) {
        creation.of(below(path));
      }
    }

    @Override
    public SeekableByteChannel newByteChannel(
        Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
        throws IOException {
      make(path, options);
      return real().newByteChannel(below(path), options, attributes);
    }

    @Override
    public FileChannel newFileChannel(
        Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
        throws IOException {
      FileChannel channel = real().newFileChannel(below(path), options, attributes);
      return isFaulty(path) ? new Channel(channel) : channel;
    }

    @Override
    public void createDirectory(Path path, FileAttribute<?>... attributes) throws IOException {
      if (isFaulty(path)) {
        creation.of(below(path));
      }
      real().createDirectory(below(path), attributes);
    }

    @Override
    public DirectoryStream<Path> newDirectoryStream(
        Path path, DirectoryStream.Filter<? super Path> filter) throws IOException {
      DirectoryStream<Path> stream =
          real().newDirectoryStream(below(path), each -> filter.accept(at(each)));
      return new DirectoryStream<>() {
        @Override
        public Iterator<Path> iterator() {
          return StreamSupport.stream(stream.spliterator(), false)
              .map(FaultyDisk.this::at)
              .iterator();
        }

        @Override
        public void close() throws IOException {
          stream.close();
        }
      };
    }

    @Override
    public void delete(Path path) throws IOException {
      real().delete(below(path));
    }

    @Override
    public boolean isSameFile(Path path, Path other) throws IOException {
      return real().isSameFile(below(path), below(other));
    }

    @Override
    public boolean isHidden(Path path) throws IOException {
      return real().isHidden(below(path));
    }

    @Override
    public FileStore getFileStore(Path path) throws IOException {
      return real().getFileStore(below(path));
    }

    @Override
    public void checkAccess(Path path, AccessMode... modes) throws IOException {
      real().checkAccess(below(path), modes);
    }

    @Override
    public <V extends FileAttributeView> V getFileAttributeView(
        Path path, Class<V> type, LinkOption... options) {
      return real().getFileAttributeView(below(path), type, options);
    }

    @Override
    public <A extends BasicFileAttributes> A readAttributes(
        Path path, Class<A> type, LinkOption... options) throws IOException {
      return real().readAttributes(below(path), type, options);
    }

    @Override
    public Map<String, Object> readAttributes(Path path, String names, LinkOption... options)
        throws IOException {
      return real().readAttributes(below(path), names, options);
    }

    @Override
    public String getScheme() {
      return "faulty";
    }

    // ---- what scratch does not use

    @Override
    public FileSystem newFileSystem(URI uri, Map<String, ?> environment) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileSystem getFileSystem(URI uri) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Path getPath(URI uri) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void copy(Path source, Path target, CopyOption... options) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void move(Path source, Path target, CopyOption... options) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void setAttribute(Path path, String name, Object value, LinkOption... options) {
      throw new UnsupportedOperationException();
    }
  }

  /** A file whose writes fail or are undone in part. */
  private final class Channel extends FileChannel {
    private final FileChannel file;

    Channel(FileChannel file) {
      this.file = file;
    }

    private void check() throws IOException {
      if (writes.getAndIncrement() >= writesMax) {
        faults.incrementAndGet();
        throw new IOException("No space left on device");
      }
    }

    @Override
    public int write(ByteBuffer bytes, long position) throws IOException {
      check();
      int start = bytes.position();
      int written = file.write(bytes, position);
      if (flips && written > 0) {
        faults.incrementAndGet();
        byte changed = (byte) (bytes.get(start + written / 2) ^ 4);
        file.write(ByteBuffer.wrap(new byte[] {changed}), position + written / 2);
      }
      return written;
    }

    @Override
    public int write(ByteBuffer bytes) throws IOException {
      check();
      return file.write(bytes);
    }

    @Override
    public int read(ByteBuffer bytes, long position) throws IOException {
      return file.read(bytes, position);
    }

    @Override
    public int read(ByteBuffer bytes) throws IOException {
      return file.read(bytes);
    }

    @Override
    public long position() throws IOException {
      return file.position();
    }

    @Override
    public FileChannel position(long position) throws IOException {
      file.position(position);
      return this;
    }

    @Override
    public long size() throws IOException {
      return file.size();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target)
        throws IOException {
      return file.transferTo(position, count, target);
    }

    @Override
    protected void implCloseChannel() throws IOException {
      file.close();
    }

    // ---- what scratch does not use

    @Override
    public long read(ByteBuffer[] bytes, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] bytes, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel truncate(long size) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void force(boolean metadata) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
      throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
      throw new UnsupportedOperationException();
    }
  }

  // ---- paths

  private final class At implements Path {
    private final Path below;

    At(Path below) {
      this.below = below;
    }

    private @Nullable Path at(@Nullable Path path) {
      return path == null ? null : new At(path);
    }

    @Override
    public FileSystem getFileSystem() {
      return FaultyDisk.this;
    }

    @Override
    public boolean isAbsolute() {
      return below.isAbsolute();
    }

    @Override
    public @Nullable Path getRoot() {
      return at(below.getRoot());
    }

    @Override
    public @Nullable Path getFileName() {
      return at(below.getFileName());
    }

    @Override
    public @Nullable Path getParent() {
      return at(below.getParent());
    }

    @Override
    public int getNameCount() {
      return below.getNameCount();
    }

    @Override
    public Path getName(int index) {
      return new At(below.getName(index));
    }

    @Override
    public Path subpath(int begin, int end) {
      return new At(below.subpath(begin, end));
    }

    @Override
    public boolean startsWith(Path other) {
      return other instanceof At at && below.startsWith(at.below);
    }

    @Override
    public boolean endsWith(Path other) {
      return other instanceof At at && below.endsWith(at.below);
    }

    @Override
    public Path normalize() {
      return new At(below.normalize());
    }

    /** Of a path that is another disk's too, as the command line's are. */
    @Override
    public Path resolve(Path other) {
      return new At(below.resolve(other instanceof At at ? at.below : other));
    }

    @Override
    public Path relativize(Path other) {
      return new At(below.relativize(FaultyDisk.below(other)));
    }

    /** The file itself, for those who open files by other means. */
    @Override
    public URI toUri() {
      return below.toUri();
    }

    @Override
    public File toFile() {
      return below.toFile();
    }

    @Override
    public Path toAbsolutePath() {
      return new At(below.toAbsolutePath());
    }

    @Override
    public Path toRealPath(LinkOption... options) throws IOException {
      return new At(below.toRealPath(options));
    }

    @Override
    public WatchKey register(
        WatchService watcher, WatchEvent.Kind<?>[] events, WatchEvent.Modifier... modifiers) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int compareTo(Path other) {
      return below.compareTo(FaultyDisk.below(other));
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof At at && below.equals(at.below);
    }

    @Override
    public int hashCode() {
      return below.hashCode();
    }

    @Override
    public String toString() {
      return below.toString();
    }
  }

  // ---- the file system

  @Override
  public FileSystemProvider provider() {
    return provider;
  }

  @Override
  public Path getPath(String first, String... more) {
    return new At(below.getPath(first, more));
  }

  @Override
  public PathMatcher getPathMatcher(String pattern) {
    PathMatcher matcher = below.getPathMatcher(pattern);
    return path -> matcher.matches(below(path));
  }

  @Override
  public boolean isOpen() {
    return true;
  }

  @Override
  public boolean isReadOnly() {
    return false;
  }

  @Override
  public String getSeparator() {
    return below.getSeparator();
  }

  @Override
  public Set<String> supportedFileAttributeViews() {
    return below.supportedFileAttributeViews();
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Iterable<Path> getRootDirectories() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Iterable<FileStore> getFileStores() {
    throw new UnsupportedOperationException();
  }

  @Override
  public UserPrincipalLookupService getUserPrincipalLookupService() {
    throw new UnsupportedOperationException();
  }

  @Override
  public WatchService newWatchService() {
    throw new UnsupportedOperationException();
  }
}
