package dev.fencepost.edge.sink;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** What an error of the file system means, in words for a person. */
final class FileFailure {

    private FileFailure() {}

    static String words(IOException e) {
        return switch (e) {
            case AccessDeniedException denied -> "permission denied";
            case NoSuchFileException missing -> "it does not exist";
            case NotDirectoryException file -> "it is not a folder";
            case FileAlreadyExistsException there -> "it exists already";
            case FileSystemException other when other.getReason() != null -> other.getReason();
            default -> e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        };
    }
}
